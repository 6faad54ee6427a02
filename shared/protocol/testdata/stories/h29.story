# H29. Undo that waits is woken. Broken by: stepRows ignore a Wake for UndoWait.
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

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"a","Attempt":2,"Queue":0}
    a UndoWait, attempt 2, 1 failed, 1 undos failed, waits until 12:00:33, complete by 12:00:38
      error of attempt 2 at 12:00:31, timeout: no reply to the undo by the complete-by time
    attempt a/2 ended: overdue timeout
  -> scheduler: wake a/2, at 12:00:33
  due 12:00:38

wait 2s
event wake a/2
----
12:00:33
    a Compensating, attempt 3, 1 failed, 1 undos failed, locked by scheduler-1, complete by 12:01:03
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:01:03 {"order":{"n":1}}
  due 12:00:38
