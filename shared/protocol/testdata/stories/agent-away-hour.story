# P45. An agent that makes no call for an hour, its circuit breaker open or its credentials expired, costs neither a
# failure nor a hop, and is asked ever less often. Broken by: hold counts a failure; hold keeps the hop; the wait does
# not grow.
workflow hops=1
step a failures=1 queue=24h

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

event not-now a/2
----
    a Pending, attempt 2, waits until 12:00:06.543, complete by 12:00:11.543
      error of attempt 2 at 12:00:02.647, unauthorized: no call was made, since 12:00:00
    attempt a/2 ended: retry-later unauthorized
  -> scheduler: wake a/2, at 12:00:06.543
  due 12:00:07.647

wait 3.896s
event wake a/2
----
12:00:06.543
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:36.543
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:00:36.543 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/3
----
    a Pending, attempt 3, waits until 12:00:15.436, complete by 12:00:20.436
      error of attempt 3 at 12:00:06.543, breaker-open: no call was made, since 12:00:00
    attempt a/3 ended: retry-later breaker-open
  -> scheduler: wake a/3, at 12:00:15.436
  due 12:00:07.647

wait 8.893s
event wake a/3
----
12:00:15.436
    a Processing, attempt 4, locked by scheduler-1, complete by 12:00:45.436
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:00:45.436 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/4
----
    a Pending, attempt 4, waits until 12:00:32.794, complete by 12:00:37.794
      error of attempt 4 at 12:00:15.436, unauthorized: no call was made, since 12:00:00
    attempt a/4 ended: retry-later unauthorized
  -> scheduler: wake a/4, at 12:00:32.794
  due 12:00:07.647

wait 17.358s
event wake a/4
----
12:00:32.794
    a Processing, attempt 5, locked by scheduler-1, complete by 12:01:02.794
  -> a-agent: do-a (do/5), key o1/0/a, stop by 12:01:02.794 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/5
----
    a Pending, attempt 5, waits until 12:01:16.795, complete by 12:01:21.795
      error of attempt 5 at 12:00:32.794, unauthorized: no call was made, since 12:00:00
    attempt a/5 ended: retry-later unauthorized
  -> scheduler: wake a/5, at 12:01:16.795
  due 12:00:07.647

wait 44.001s
event wake a/5
----
12:01:16.795
    a Processing, attempt 6, locked by scheduler-1, complete by 12:01:46.795
  -> a-agent: do-a (do/6), key o1/0/a, stop by 12:01:46.795 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/6
----
    a Pending, attempt 6, waits until 12:03:05.492, complete by 12:03:10.492
      error of attempt 6 at 12:01:16.795, breaker-open: no call was made, since 12:00:00
    attempt a/6 ended: retry-later breaker-open
  -> scheduler: wake a/6, at 12:03:05.492
  due 12:00:07.647

wait 1m48.697s
event wake a/6
----
12:03:05.492
    a Processing, attempt 7, locked by scheduler-1, complete by 12:03:35.492
  -> a-agent: do-a (do/7), key o1/0/a, stop by 12:03:35.492 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/7
----
    a Pending, attempt 7, waits until 12:07:11.116, complete by 12:07:16.116
      error of attempt 7 at 12:03:05.492, unauthorized: no call was made, since 12:00:00
    attempt a/7 ended: retry-later unauthorized
  -> scheduler: wake a/7, at 12:07:11.116
  due 12:00:07.647

wait 4m5.624s
event wake a/7
----
12:07:11.116
    a Processing, attempt 8, locked by scheduler-1, complete by 12:07:41.116
  -> a-agent: do-a (do/8), key o1/0/a, stop by 12:07:41.116 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/8
----
    a Pending, attempt 8, waits until 12:13:23.385, complete by 12:13:28.385
      error of attempt 8 at 12:07:11.116, unauthorized: no call was made, since 12:00:00
    attempt a/8 ended: retry-later unauthorized
  -> scheduler: wake a/8, at 12:13:23.385
  due 12:00:07.647

wait 6m12.269s
event wake a/8
----
12:13:23.385
    a Processing, attempt 9, locked by scheduler-1, complete by 12:13:53.385
  -> a-agent: do-a (do/9), key o1/0/a, stop by 12:13:53.385 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/9
----
    a Pending, attempt 9, waits until 12:20:34.407, complete by 12:20:39.407
      error of attempt 9 at 12:13:23.385, breaker-open: no call was made, since 12:00:00
    attempt a/9 ended: retry-later breaker-open
  -> scheduler: wake a/9, at 12:20:34.407
  due 12:00:07.647

wait 7m11.022s
event wake a/9
----
12:20:34.407
    a Processing, attempt 10, locked by scheduler-1, complete by 12:21:04.407
  -> a-agent: do-a (do/10), key o1/0/a, stop by 12:21:04.407 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/10
----
    a Pending, attempt 10, waits until 12:27:29.673, complete by 12:27:34.673
      error of attempt 10 at 12:20:34.407, unauthorized: no call was made, since 12:00:00
    attempt a/10 ended: retry-later unauthorized
  -> scheduler: wake a/10, at 12:27:29.673
  due 12:00:07.647

wait 6m55.266s
event wake a/10
----
12:27:29.673
    a Processing, attempt 11, locked by scheduler-1, complete by 12:27:59.673
  -> a-agent: do-a (do/11), key o1/0/a, stop by 12:27:59.673 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/11
----
    a Pending, attempt 11, waits until 12:34:05.259, complete by 12:34:10.259
      error of attempt 11 at 12:27:29.673, unauthorized: no call was made, since 12:00:00
    attempt a/11 ended: retry-later unauthorized
  -> scheduler: wake a/11, at 12:34:05.259
  due 12:00:07.647

wait 6m35.586s
event wake a/11
----
12:34:05.259
    a Processing, attempt 12, locked by scheduler-1, complete by 12:34:35.259
  -> a-agent: do-a (do/12), key o1/0/a, stop by 12:34:35.259 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/12
----
    a Pending, attempt 12, waits until 12:41:35.097, complete by 12:41:40.097
      error of attempt 12 at 12:34:05.259, breaker-open: no call was made, since 12:00:00
    attempt a/12 ended: retry-later breaker-open
  -> scheduler: wake a/12, at 12:41:35.097
  due 12:00:07.647

wait 7m29.838s
event wake a/12
----
12:41:35.097
    a Processing, attempt 13, locked by scheduler-1, complete by 12:42:05.097
  -> a-agent: do-a (do/13), key o1/0/a, stop by 12:42:05.097 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/13
----
    a Pending, attempt 13, waits until 12:47:54.174, complete by 12:47:59.174
      error of attempt 13 at 12:41:35.097, unauthorized: no call was made, since 12:00:00
    attempt a/13 ended: retry-later unauthorized
  -> scheduler: wake a/13, at 12:47:54.174
  due 12:00:07.647

wait 6m19.077s
event wake a/13
----
12:47:54.174
    a Processing, attempt 14, locked by scheduler-1, complete by 12:48:24.174
  -> a-agent: do-a (do/14), key o1/0/a, stop by 12:48:24.174 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/14
----
    a Pending, attempt 14, waits until 12:54:34.373, complete by 12:54:39.373
      error of attempt 14 at 12:47:54.174, unauthorized: no call was made, since 12:00:00
    attempt a/14 ended: retry-later unauthorized
  -> scheduler: wake a/14, at 12:54:34.373
  due 12:00:07.647

wait 6m40.199s
event wake a/14
----
12:54:34.373
    a Processing, attempt 15, locked by scheduler-1, complete by 12:55:04.373
  -> a-agent: do-a (do/15), key o1/0/a, stop by 12:55:04.373 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/15
----
    a Pending, attempt 15, waits until 13:00:00.619, complete by 13:00:05.619
      error of attempt 15 at 12:54:34.373, breaker-open: no call was made, since 12:00:00
    attempt a/15 ended: retry-later breaker-open
  -> scheduler: wake a/15, at 13:00:00.619
  due 12:00:07.647

wait 5m26.246s
event wake a/15
----
13:00:00.619
    a Processing, attempt 16, locked by scheduler-1, complete by 13:00:30.619
  -> a-agent: do-a (do/16), key o1/0/a, stop by 13:00:30.619 {"order":{"n":1}}
  due 12:00:07.647

event done a/16
----
  Processed
    a Processed, attempt 16
      error of attempt 15 at 12:54:34.373, breaker-open: no call was made
  -> shop: completed, number 1, 
       a Processed, attempt 16
  reported
  at rest
