# H14. Supervisor dies after its commit. Broken by: askFor leaves no CompleteBy.
step a failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
  Compensating, because of failure
    a UndoWait, attempt 1, 1 failed, complete by 12:00:36
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt a/1 ended: overdue timeout
  -> scheduler: wake a/1, now
  due 12:00:36

wait 5s
sweep
----
12:00:36
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a UndoWait, attempt 1, 1 failed, complete by 12:00:41
  -> scheduler: wake a/1, now
  due 12:00:41

event wake a/1
----
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:06
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:06 {"order":{"n":1}}
  due 12:00:41
