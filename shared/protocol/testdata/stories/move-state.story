# P49: a move needs a task with nothing in flight and a reported end, the present command number, and the same workflow.
step a
step b after=a stop
step c after=b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30


to step a
to step b after=a stop
to step c after=b
event move m1
----
  move m1 refused: a step is in flight; repeat the command when it has ended
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1 crash
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:00:30

to step a
to step b after=a stop
to step c after=b
event move m2
----
  move m2 refused: its end has not been reported yet; repeat the command in a moment
  due 12:00:30

event settle
----
  ignored: sent again
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to workflow name=other
to step a
to step b after=a stop
to step c after=b
event move m3
----
  move m3 refused: that definition is of the workflow other; the order's is test
  attention 12:00:00

event move m4
----
  move m4 refused: no such definition
  attention 12:00:00

to step a
to step b after=a stop
to step c after=b
event move m5 command=0
----
  move m5 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00

to workflow tokens
to step a
to step b after=a stop
to step c after=b
event move m6
----
  move m6 refused: the workflow test makes tokens, and this deployment has no key for them; deploy one, then send it again
  attention 12:00:00
