# P45. Without pollFor, maxQueueTime limits a poll, and the step stops for the operator whatever its policy is.
step a failures=1 queue=10m

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
    a Pending, attempt 2, waits until 12:10:00, complete by 12:10:05
      error of attempt 2 at 12:07:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/2 ended: retry-later not-yet
  -> scheduler: wake a/2, at 12:10:00
  due 12:00:30

wait 3m
event wake a/2
----
12:10:00
    a Processing, attempt 3, locked by scheduler-1, complete by 12:10:30
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:10:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/3 retry-after=7m
----
  Error (forward)
    a Failed, attempt 3
      error of attempt 3 at 12:10:00, not-yet: the service has answered not-yet for longer than maxQueueTime, the limit of a step without pollFor: no call was made
    attempt a/3 ended: retry-later not-yet
  -> shop: failed, number 1, a not-yet the service has answered not-yet for longer than maxQueueTime, the limit of a step without pollFor: no call was made
       a Failed, attempt 3
  -> operator: forward of step "a", not-yet: the service has answered not-yet for longer than maxQueueTime, the limit of a step without pollFor: no call was made (answer to command 0; resubmit; undo; resolve from 12:10:31.001)
  reported
  attention 12:10:00
