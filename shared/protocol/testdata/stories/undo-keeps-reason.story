# An operator who goes on with an undo that stopped keeps the reason that the task had.
step a undo-failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-failed a/2
----
  Error (undo), because of cancel
    a UndoWait, attempt 2, 1 undos failed
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt a/2 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a UndoWait, attempt 2
  -> operator: undo of step "a", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event undo u1
----
  undo u1 accepted: 
  Compensating, because of cancel
    a Compensating, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
