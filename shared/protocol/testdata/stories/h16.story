# H16. Push keeps the due time of a task that runs, and moves it once. Broken by: Push removes the due time.
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

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
  reported
  at rest

event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 1m
event later a/3
----
12:01:00
    a Pending, attempt 3, 1 failed, waits until 12:01:01, complete by 12:01:06
      error of attempt 3 at 12:01:00, http-503: the service is not well
    attempt a/3 ended: retry-later http-503
  -> scheduler: wake a/3, at 12:01:01
  due 12:00:30

sweep
----
nothing is overdue; due pushed: true
  due 12:01:06

sweep
----
nothing is overdue; due pushed: false
  due 12:01:06
