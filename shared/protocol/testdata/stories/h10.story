# H10, P6. Broken by: askFor, or anything but a claim, moves StopBy; or CompleteBy goes past it.
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

event later b/1
----
    b Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:01
  due 12:00:06

wait 10s
sweep
----
12:00:10
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:15
  -> scheduler: wake b/1, now
  due 12:00:15

event submit
----
  ignored: the order is there
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:15
