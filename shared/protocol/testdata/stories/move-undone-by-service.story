# P49: a step that its service has undone keeps its input, although an earlier fact said that nothing happened.
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

wait 1h
event resolve f b not-happened
----
13:00:00
  resolve f accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event undo u
----
  undo u accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 13:00:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 13:00:30, resolved: not-happened {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 13:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 13:00:30
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 13:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 13:00:30

event undo-failed a/2
----
    a UndoWait, attempt 2, 1 undos failed, waits until 13:00:02, complete by 13:00:07
      error of attempt 2 at 13:00:00, refused: the service refused
    attempt a/2 ended: failed refused
  -> scheduler: wake a/2, at 13:00:02
  due 13:00:07

wait 3s
event wake a/2
----
13:00:03
    a Compensating, attempt 3, 1 undos failed, locked by scheduler-1, complete by 13:00:33
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 13:00:33 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 13:00:07

event undo-failed a/3
----
  Error (undo), because of operator
    a UndoWait, attempt 3, 2 undos failed
      error of attempt 3 at 13:00:03, refused: the service refused
    attempt a/3 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a UndoWait, attempt 3
       b Compensated, attempt 2
       c Pending, attempt 0
  -> operator: undo of step "a", refused: the service refused (answer to command 2; resubmit; undo; resolve from 13:00:34.001)
  reported
  attention 13:00:03

to step a
to step b after=a stop template=other
to step c after=b
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step b: its input changed from "template" to "other"; if its service shows that it did not happen, resolve it as not-happened first
  attention 13:00:03
