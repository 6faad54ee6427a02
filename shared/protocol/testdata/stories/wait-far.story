# No message can be delayed for more than 15 minutes: the Supervisor ends a longer wait, at its time (P34).
step w wait=20m
step v wait=15m

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:20:00, complete by 12:20:00
    v Waiting, attempt 1, waits until 12:15:00, complete by 12:15:05
  -> scheduler: wake w/1, at 12:20:00
  -> scheduler: wake v/1, at 12:15:00
  due 12:15:05

wait 15m
event wake v/1
----
12:15:00
    v Processed, attempt 1
  due 12:15:05

wait 299s
sweep
----
12:19:59
nothing is overdue; due pushed: true
  due 12:20:00

wait 1s
sweep
----
12:20:00
supervisor: Overdue{"Step":"w","Attempt":1,"Queue":0}
    w Waiting, attempt 1, waits until 12:20:00, complete by 12:20:05
  -> scheduler: wake w/1, now
  due 12:20:05

event wake w/1
----
  Processed
    w Processed, attempt 1
  -> shop: completed, number 1, 
       w Processed, attempt 1
       v Processed, attempt 1
  reported
  at rest
