# P49: the fact that a step was undone allows another input.
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

event undo u
----
  undo u accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undo-failed b/2
----
    b UndoWait, attempt 2, 1 failed, 1 undos failed, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> scheduler: wake b/2, at 12:00:02
  due 12:00:07

wait 3s
event wake b/2
----
12:00:03
    b Compensating, attempt 3, 1 failed, 1 undos failed, locked by scheduler-1, complete by 12:00:33
  -> b-agent: undo-b (undo/3), key o1/0/b, stop by 12:00:33 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:07

event undo-failed b/3
----
  Error (undo), because of operator
    b UndoWait, attempt 3, 1 failed, 2 undos failed
      error of attempt 3 at 12:00:03, refused: the service refused
    attempt b/3 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 1
       b UndoWait, attempt 3
       c Pending, attempt 0
  -> operator: undo of step "b", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:34.001)
  reported
  attention 12:00:03

wait 1m
event resolve f b undone
----
12:01:03
  resolve f accepted: 
    b Compensated, attempt 3, 1 failed, 2 undos failed
  attention 12:00:03

to step a
to step b after=a stop template=other
to step c after=b
event move m1
----
  move m1 accepted: 
  attention 12:00:03
