# H23. Late reply counts. Broken by: guard refuses an older attempt of done, or stepRows leave out Pending.
step a
step b

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
    a Pending, attempt 1, 1 failed, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt a/1 ended: overdue timeout
  -> scheduler: wake a/1, at 12:00:32
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Pending, attempt 1, 1 failed, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  -> scheduler: wake b/1, at 12:00:32
  due 12:00:37

event done a/1
----
    a Processed, attempt 1, 1 failed
  due 12:00:37

wait 1h
event wake b/1
----
13:00:31
    b Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 13:01:01
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:01:01 {"order":{"n":1}}
  due 12:00:37

event done b/1
----
  Processed
    b Processed, attempt 2, 1 failed
  -> shop: completed, number 1, 
       a Processed, attempt 1
       b Processed, attempt 2
  reported
  at rest
