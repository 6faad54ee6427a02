# H5. Undo in doubt is never resumed forward. Broken by: a resubmit in Error (undo) resumes forward.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-failed a/2
----
    a UndoWait, attempt 2, 1 failed, 1 undos failed, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt a/2 ended: failed refused
  -> scheduler: wake a/2, at 12:00:02
  due 12:00:07

wait 3s
event wake a/2
----
12:00:03
    a Compensating, attempt 3, 1 failed, 1 undos failed, locked by scheduler-1, complete by 12:00:33
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:00:33 {"order":{"n":1}}
  due 12:00:07

event undo-failed a/3
----
  Error (undo), because of failure
    a UndoWait, attempt 3, 1 failed, 2 undos failed
      error of attempt 3 at 12:00:03, refused: the service refused
    attempt a/3 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a UndoWait, attempt 3
  -> operator: undo of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:34.001)
  reported
  attention 12:00:03

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of failure
    a Compensating, attempt 4, 1 failed, locked by scheduler-1, complete by 12:00:33
  -> a-agent: undo-a (undo/4), key o1/0/a, stop by 12:00:33 {"order":{"n":1}}
  due 12:00:33
