# A plain service: two undos in doubt, and the operator finds out what happened.
step a grade=plain undo-failures=1
step b grade=plain after=a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30, plain {"order":{"n":1},"seen":{"a":{"of":"a"}}}
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
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

# An agent may still be at work.
event resolve x0 b happened
----
  resolve x0 refused: a call of the step may still take effect; wait until 2026-11-21T12:00:31.001Z
  attention 12:00:00

wait 32s
event resolve x1 b not-happened
----
12:00:32
  resolve x1 accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:02
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:01:02, resolved: not-happened, plain {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:01:02

wait 1s
event undone b/2
----
12:00:33
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:01:03
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:03, plain {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:01:02

event undo-failed a/2
----
  Error (undo), because of operator
    a UndoWait, attempt 2, 1 undos failed
      error of attempt 2 at 12:00:33, refused: the service refused
    attempt a/2 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a UndoWait, attempt 2
       b Compensated, attempt 2
  -> operator: undo of step "a", refused: the service refused (answer to command 3; resubmit; undo; resolve from 12:01:04.001)
  reported
  attention 12:00:33

wait 40s
event resolve x2 a happened
----
12:01:13
  resolve x2 accepted: 
  attention 12:00:33

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of operator
    a Compensating, attempt 3, locked by scheduler-1, complete by 12:01:43
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:01:43, resolved: happened, plain {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:01:43

event undone a/3
----
  Compensated, because of operator
    a Compensated, attempt 3
  -> shop: undone, number 3, b refused the service refused
       a Compensated, attempt 3
       b Compensated, attempt 2
  reported
  at rest
