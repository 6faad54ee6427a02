# P45. A failure of a call that was made counts as usual, and ends the series of hand-backs that do not count. The
# next series has its own maxQueueTime. Broken by: release keeps the begin of the earlier series.
step a failures=2

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-now a/1
----
    a Pending, attempt 1, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, unauthorized: no call was made, since 12:00:00
    attempt a/1 ended: retry-later unauthorized
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647

wait 2.647s
event wake a/1
----
12:00:02.647
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:32.647
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:32.647 {"order":{"n":1}}
  due 12:00:07.647

event later a/2
----
    a Pending, attempt 2, 1 failed, waits until 12:00:03.647, complete by 12:00:08.647
      error of attempt 2 at 12:00:02.647, http-503: the service is not well
    attempt a/2 ended: retry-later http-503
  -> scheduler: wake a/2, at 12:00:03.647
  due 12:00:07.647

wait 1s
event wake a/2
----
12:00:03.647
    a Processing, attempt 3, 1 failed, locked by scheduler-1, complete by 12:00:33.647
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:00:33.647 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/3
----
    a Pending, attempt 3, 1 failed, waits until 12:00:06.365, complete by 12:00:11.365
      error of attempt 3 at 12:00:03.647, unauthorized: no call was made, since 12:00:03.647
    attempt a/3 ended: retry-later unauthorized
  -> scheduler: wake a/3, at 12:00:06.365
  due 12:00:07.647

wait 2.718s
event wake a/3
----
12:00:06.365
    a Processing, attempt 4, 1 failed, locked by scheduler-1, complete by 12:00:36.365
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:00:36.365 {"order":{"n":1}}
  due 12:00:07.647

event failed a/4 code=unauthorized
----
  Compensating, because of failure
    a Compensating, attempt 5, 2 failed, locked by scheduler-1, complete by 12:00:36.365
      error of attempt 4 at 12:00:06.365, unauthorized: the service refused
    attempt a/4 ended: failed unauthorized
  -> a-agent: undo-a (undo/5), key o1/0/a, stop by 12:00:36.365 {"order":{"n":1}}
  due 12:00:07.647
