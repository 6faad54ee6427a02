# P45. A failure that counts ends a poll, and the next one has its whole time.
step a poll=30m

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/1
----
    a Pending, attempt 1, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647

wait 29m
event wake a/1
----
12:29:00
    a Processing, attempt 2, locked by scheduler-1, complete by 12:29:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:29:30 {"order":{"n":1}}
  due 12:00:07.647

event later a/2
----
    a Pending, attempt 2, 1 failed, waits until 12:29:01, complete by 12:29:06
      error of attempt 2 at 12:29:00, http-503: the service is not well
    attempt a/2 ended: retry-later http-503
  -> scheduler: wake a/2, at 12:29:01
  due 12:00:07.647

wait 1m
event wake a/2
----
12:30:00
    a Processing, attempt 3, 1 failed, locked by scheduler-1, complete by 12:30:30
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:30:30 {"order":{"n":1}}
  due 12:00:07.647

event not-yet a/3
----
    a Pending, attempt 3, 1 failed, waits until 12:30:02.718, complete by 12:30:07.718
      error of attempt 3 at 12:30:00, not-yet: no call was made, since 12:30:00, polling since 12:30:00
    attempt a/3 ended: retry-later not-yet
  -> scheduler: wake a/3, at 12:30:02.718
  due 12:00:07.647

wait 29m
event wake a/3
----
12:59:00
    a Processing, attempt 4, 1 failed, locked by scheduler-1, complete by 12:59:30
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:59:30 {"order":{"n":1}}
  due 12:00:07.647

event done a/4
----
  Processed
    a Processed, attempt 4, 1 failed
      error of attempt 3 at 12:30:00, not-yet: no call was made
  -> shop: completed, number 1, 
       a Processed, attempt 4
  reported
  at rest
