# P45. A permanent failure of an undo counts, whatever its code.
step a

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

event undo-failed a/2 code=unauthorized
----
    a UndoWait, attempt 2, 1 undos failed, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, unauthorized: the service refused
    attempt a/2 ended: failed unauthorized
  -> scheduler: wake a/2, at 12:00:02
  due 12:00:07
