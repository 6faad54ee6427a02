# P51, P49: another operation of a step that was not asked removes its new input.
step a
step b after=a stop
step c after=b stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resubmit x step=c input={"amount":12}
----
  resubmit x accepted: with another input for c
  Processing
    b Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    c Pending, input of command 1
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/2
----
  Error (forward)
    b Failed, attempt 2, 1 failed
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 2
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a
to step b after=a stop
to step c after=b stop operation=other
event move m1
----
  move m1 accepted: 
    c Pending
  attention 12:00:00
