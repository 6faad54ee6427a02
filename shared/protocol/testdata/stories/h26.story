# H26. Asking again does not move the wait. Broken by: askFor moves WakeAt.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 10s
sweep
----
12:00:10
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:15
  -> scheduler: wake a/1, now
  due 12:00:15

wait 10s
sweep
----
12:00:20
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:25
  -> scheduler: wake a/1, now
  due 12:00:25

wait 10s
sweep
----
12:00:30
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:35
  -> scheduler: wake a/1, now
  due 12:00:35

event wake a/1
----
    a Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:00 {"order":{"n":1}}
  due 12:00:35
