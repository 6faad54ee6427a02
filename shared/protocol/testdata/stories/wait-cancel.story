# A cancel ends a wait at once, in the order's own decision.
step w wait=366h

event submit
----
  Processing
    w Waiting, attempt 1, waits until day 15 18:00:00, complete by day 15 18:00:00
  -> scheduler: wake w/1, at day 15 18:00:00
  due day 15 18:00:00

event cancel c1
----
  cancel c1 accepted: 
  Cancelled, because of cancel
    w Compensated, attempt 1
  -> shop: cancelled, number 1, 
       w Compensated, attempt 1
  reported
  at rest

event wake w/1
----
  ignored: the task has ended
  at rest
