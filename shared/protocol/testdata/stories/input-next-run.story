# P51: the next run has keys of its own, so that any call can get another input, and an earlier one ends with its run.
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

event settle
----
  ignored: everything was reported before
  attention 12:00:00

wait 1h
event resolve f b not-happened
----
13:00:00
  resolve f accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event resubmit r step=b input={"amount":12}
----
  resubmit r accepted: with another input for b
  Processing
    b Processing, attempt 2, input of command 2, locked by scheduler-1, complete by 13:00:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30, resolved: not-happened {"amount":12}
  due 13:00:30

event failed b/2
----
  Error (forward)
    b Failed, attempt 2, 1 failed, input of command 2
      error of attempt 2 at 13:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 2
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 2; resubmit; undo; resolve from 13:00:31.001)
  reported
  attention 13:00:00

wait 1h
event undo u
----
14:00:00
  undo u accepted: 
  Compensating, because of operator
    b Compensating, attempt 3, 1 failed, input of command 2, locked by scheduler-1, complete by 14:00:30
  -> b-agent: undo-b (undo/3), key o1/0/b, stop by 14:00:30, resolved: not-happened {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 14:00:30

event undone b/3
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 14:00:30
    b Compensated, attempt 3, 1 failed, input of command 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 14:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 14:00:30

event undone a/2
----
  Compensated, because of operator
    a Compensated, attempt 2
  -> shop: undone, number 3, b refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 3
       c Pending, attempt 0
  reported
  at rest

event resubmit s step=a input="other"
----
  resubmit s accepted: with another input for a
  Processing, run 1
    a Processing, attempt 3, input of command 4, locked by scheduler-1, complete by 14:00:30
    b Pending, attempt 3
  -> a-agent: do-a (do/3), key o1/1/a, stop by 14:00:30 "other"
  due 14:00:30

event done a/3
----
    a Processed, attempt 3, input of command 4
    b Processing, attempt 4, locked by scheduler-1, complete by 14:00:30
  -> b-agent: do-b (do/4), key o1/1/b, stop by 14:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 14:00:30
