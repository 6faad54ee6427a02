# P45. A time without calls does not end a poll, and is counted separately. After it, the poll has the rest of its
# time. A reply not-yet ends the time without calls. A failure that counts ends both. Broken by: one time for both; a
# poll that begins anew.
step a queue=1m poll=30m stop

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

wait 20m
event wake a/1
----
12:20:00
    a Processing, attempt 2, locked by scheduler-1, complete by 12:20:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:20:30 {"order":{"n":1}}
  due 12:00:07.647

event breaker-open a/2
----
    a Pending, attempt 2, waits until 12:20:02.943, complete by 12:20:07.943
      error of attempt 2 at 12:20:00, breaker-open: no call was made, since 12:20:00, polling since 12:00:00
    attempt a/2 ended: retry-later breaker-open
  -> scheduler: wake a/2, at 12:20:02.943
  due 12:00:07.647

wait 30s
event wake a/2
----
12:20:30
    a Processing, attempt 3, locked by scheduler-1, complete by 12:21:00
      error of attempt 2 at 12:20:00, breaker-open: no call was made, since 12:20:22.057, polling since 12:00:00
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:21:00 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/3
----
    a Pending, attempt 3, waits until 12:20:40.796, complete by 12:20:45.796
      error of attempt 3 at 12:20:30, unauthorized: no call was made, since 12:20:22.057, polling since 12:00:00
    attempt a/3 ended: retry-later unauthorized
  -> scheduler: wake a/3, at 12:20:40.796
  due 12:00:07.647

wait 30s
event wake a/3
----
12:21:00
    a Processing, attempt 4, locked by scheduler-1, complete by 12:21:30
      error of attempt 3 at 12:20:30, unauthorized: no call was made, since 12:20:36.261, polling since 12:00:00
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:21:30 {"order":{"n":1}}
  due 12:00:07.647

event not-yet a/4
----
    a Pending, attempt 4, waits until 12:26:37.363, complete by 12:26:42.363
      error of attempt 4 at 12:21:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/4 ended: retry-later not-yet
  -> scheduler: wake a/4, at 12:26:37.363
  due 12:00:07.647

wait 5m37.363s
event wake a/4
----
12:26:37.363
    a Processing, attempt 5, locked by scheduler-1, complete by 12:27:07.363
  -> a-agent: do-a (do/5), key o1/0/a, stop by 12:27:07.363 {"order":{"n":1}}
  due 12:00:07.647

event not-now a/5
----
    a Pending, attempt 5, waits until 12:26:40.046, complete by 12:26:45.046
      error of attempt 5 at 12:26:37.363, unauthorized: no call was made, since 12:26:37.363, polling since 12:00:00
    attempt a/5 ended: retry-later unauthorized
  -> scheduler: wake a/5, at 12:26:40.046
  due 12:00:07.647

wait 50s
event wake a/5
----
12:27:27.363
    a Processing, attempt 6, locked by scheduler-1, complete by 12:27:57.363
      error of attempt 5 at 12:26:37.363, unauthorized: no call was made, since 12:27:19.680, polling since 12:00:00
  -> a-agent: do-a (do/6), key o1/0/a, stop by 12:27:57.363 {"order":{"n":1}}
  due 12:00:07.647

wait 2m32.637s
event not-yet a/6
----
12:30:00
  Error (forward)
    a Failed, attempt 6
      error of attempt 6 at 12:30:00, not-yet: the service has answered not-yet for longer than pollFor: no call was made
    attempt a/6 ended: retry-later not-yet
  -> shop: failed, number 1, a not-yet the service has answered not-yet for longer than pollFor: no call was made
       a Failed, attempt 6
  -> operator: forward of step "a", not-yet: the service has answered not-yet for longer than pollFor: no call was made (answer to command 0; resubmit; undo; resolve)
  reported
  attention 12:30:00
