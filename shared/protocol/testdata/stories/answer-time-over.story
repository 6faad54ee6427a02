# P36: it also says that the time for an answer was over.
step w answers=yes,no who=ann,bob

event submit
----
  Processing
    w Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake w/1, at 13:00:00
  due 13:00:00

wait 61m
event wake w/1
----
13:01:00
  Compensated, because of failure
    w Compensated, attempt 1, round 1, decided null by timeout
      error of attempt 1 at 13:01:00, answer-timeout: no answer came in time
  -> shop: undone, number 1, w answer-timeout no answer came in time
       w Compensated, attempt 1
  reported
  at rest

event answer w/1 no by=bob
----
  answer a1 refused: the order no longer goes forward; it is Compensated; the time for an answer to step w was over at 2026-11-21T13:01:00.000Z
  at rest
