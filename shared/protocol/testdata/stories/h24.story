# H24. Both overdue at the budget. Broken by: claimLater sets no CompleteBy.
step a failures=1
step b failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
  Compensating, because of failure
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    b UndoWait, attempt 1, complete by 12:00:36
    attempt a/1 ended: overdue timeout
    attempt b/1 ended: superseded
  -> scheduler: wake b/1, now
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
  ignored: its time has not passed
  due 12:00:36

event wake b/1
----
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:01:01
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:01:01 {"order":{"n":1}}
  due 12:00:36

event undone b/2
----
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:01
    b Compensated, attempt 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:01 {"order":{"n":1}}
  due 12:00:36

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a timeout no reply by the complete-by time
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest
