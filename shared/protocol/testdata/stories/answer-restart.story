# The process dies, and its queues with it: the Wake of a question is sent again (P27).
step approve answers=yes,no timeout=10m
step far answers=yes,no timeout=9d

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
    far Waiting, attempt 1, round 1, waits until day 9 12:00:00, complete by day 9 12:00:00
  -> scheduler: wake approve/1, at 12:10:00
  -> scheduler: wake far/1, at day 9 12:00:00
  due 12:10:05

restart
----
  -> scheduler: wake approve/1, at 12:10:00
  -> scheduler: wake far/1, at day 9 12:00:00
  due 12:10:05

event answer approve/1 yes by=ann
----
  answer a1 accepted: 
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
  due 12:10:05

restart
----
  -> scheduler: wake far/1, at day 9 12:00:00
  due 12:10:05
