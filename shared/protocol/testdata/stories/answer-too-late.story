# P36: an answer to an order that has ended is refused, and the refusal says who decided before, as it does while the
# order runs. Only one who may answer that round reads it.
step w answers=yes,no who=ann,bob

event submit
----
  Processing
    w Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake w/1, at 13:00:00
  due 13:00:00

wait 1m
event answer w/1 yes by=ann
----
12:01:00
  answer a1 accepted: 
  Processed
    w Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
  -> shop: completed, number 1, 
       w Processed, attempt 1
  reported
  at rest

event answer w/1 no by=bob
----
  answer a2 refused: the order no longer goes forward; it is Processed; step w was decided at 2026-11-21T12:01:00.000Z: "yes" by ann
  at rest

event answer w/1 yes by=ann
----
  answer a3 refused: the order no longer goes forward; it is Processed; step w was decided at 2026-11-21T12:01:00.000Z: "yes" by ann
  at rest

event answer w/1 no by=eve
----
  answer a4 refused: the order no longer goes forward; it is Processed
  at rest

event answer w/2 no by=bob
----
  answer a5 refused: the order no longer goes forward; it is Processed
  at rest
