# The spread of a wait is computed from the order, so that it is the same each time (P34).
step w wait=10s spread=1m
step v wait=10s spread=1m

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:00:51.813, complete by 12:00:56.813
    v Waiting, attempt 1, waits until 12:00:59.032, complete by 12:01:04.032
  -> scheduler: wake w/1, at 12:00:51.813
  -> scheduler: wake v/1, at 12:00:59.032
  due 12:00:56.813

event submit
----
  ignored: the order is there
  -> scheduler: wake w/1, at 12:00:51.813
  -> scheduler: wake v/1, at 12:00:59.032
  due 12:00:56.813
