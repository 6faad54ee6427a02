# H2. Undo waits until no copy can act. Broken by: undoNext does not ask whether the step is quiet (P21).
step a grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a UndoWait, attempt 1, 1 failed, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30

wait 31s
event wake a/1
----
12:00:31
  ignored: the order waits for something else
  due 12:00:30

wait 1ms
event wake a/1
----
12:00:31.001
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:01.001
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:30
