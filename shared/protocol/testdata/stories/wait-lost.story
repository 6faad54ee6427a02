# The message that would have ended a wait is lost: the Supervisor asks after the grace, and counts nothing (P33).
step w wait=30s
step b after=w

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:35
    b Pending
  -> scheduler: wake w/1, at 12:00:30
  due 12:00:35

wait 34s
sweep
----
12:00:34
nothing is overdue; due pushed: false
  due 12:00:35

wait 1s
sweep
----
12:00:35
supervisor: Overdue{"Step":"w","Attempt":1,"Queue":0}
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:40
  -> scheduler: wake w/1, now
  due 12:00:40

wait 6s
sweep
----
12:00:41
supervisor: Overdue{"Step":"w","Attempt":1,"Queue":0}
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:46
  -> scheduler: wake w/1, now
  due 12:00:46

event wake w/1
----
    w Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:11
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:11 {"order":{"n":1}}
  due 12:00:46
