# P45. A step that polls is asked again at the time that its service names, costs neither a failure nor a hop, and
# ends by its policy when pollFor is over. Where it has none it stops for the operator when maxQueueTime is over.
# Broken by: not-yet is a failure; its bound is maxQueueTime; it has none.
workflow hops=1
step a failures=1 queue=10m poll=30m stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/1 retry-after=7m
----
    a Pending, attempt 1, waits until 12:07:00, complete by 12:07:05
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:07:00
  due 12:00:30

wait 7m
event wake a/1
----
12:07:00
    a Processing, attempt 2, locked by scheduler-1, complete by 12:07:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:07:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/2 retry-after=7m
----
    a Pending, attempt 2, waits until 12:14:21.567, complete by 12:14:26.567
      error of attempt 2 at 12:07:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/2 ended: retry-later not-yet
  -> scheduler: wake a/2, at 12:14:21.567
  due 12:00:30

wait 7m21.567s
event wake a/2
----
12:14:21.567
    a Processing, attempt 3, locked by scheduler-1, complete by 12:14:51.567
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:14:51.567 {"order":{"n":1}}
  due 12:00:30

event not-yet a/3 retry-after=7m
----
    a Pending, attempt 3, waits until 12:21:21.567, complete by 12:21:26.567
      error of attempt 3 at 12:14:21.567, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/3 ended: retry-later not-yet
  -> scheduler: wake a/3, at 12:21:21.567
  due 12:00:30

wait 7m
event wake a/3
----
12:21:21.567
    a Processing, attempt 4, locked by scheduler-1, complete by 12:21:51.567
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:21:51.567 {"order":{"n":1}}
  due 12:00:30

event not-yet a/4 retry-after=7m
----
    a Pending, attempt 4, waits until 12:28:21.567, complete by 12:28:26.567
      error of attempt 4 at 12:21:21.567, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/4 ended: retry-later not-yet
  -> scheduler: wake a/4, at 12:28:21.567
  due 12:00:30

wait 7m
event wake a/4
----
12:28:21.567
    a Processing, attempt 5, locked by scheduler-1, complete by 12:28:51.567
  -> a-agent: do-a (do/5), key o1/0/a, stop by 12:28:51.567 {"order":{"n":1}}
  due 12:00:30

event not-yet a/5 retry-after=7m
----
    a Pending, attempt 5, waits until 12:30:00, complete by 12:30:05
      error of attempt 5 at 12:28:21.567, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/5 ended: retry-later not-yet
  -> scheduler: wake a/5, at 12:30:00
  due 12:00:30

wait 1m38.433s
event wake a/5
----
12:30:00
    a Processing, attempt 6, locked by scheduler-1, complete by 12:30:30
  -> a-agent: do-a (do/6), key o1/0/a, stop by 12:30:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/6 retry-after=7m
----
  Error (forward)
    a Failed, attempt 6
      error of attempt 6 at 12:30:00, not-yet: the service has answered not-yet for longer than pollFor: no call was made
    attempt a/6 ended: retry-later not-yet
  -> shop: failed, number 1, a not-yet the service has answered not-yet for longer than pollFor: no call was made
       a Failed, attempt 6
  -> operator: forward of step "a", not-yet: the service has answered not-yet for longer than pollFor: no call was made (answer to command 0; resubmit; undo; resolve from 12:30:31.001)
  reported
  attention 12:30:00
