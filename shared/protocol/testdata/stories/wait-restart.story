# The process dies, and its queues with it: a wait is sent again from the document (P27).
step w wait=30s
step v wait=20m
step a grade=idempotent

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:35
    v Waiting, attempt 1, waits until 12:20:00, complete by 12:20:00
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake w/1, at 12:00:30
  -> scheduler: wake v/1, at 12:20:00
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

restart
----
  -> scheduler: wake w/1, at 12:00:30
  -> scheduler: wake v/1, at 12:20:00
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
  due 12:00:30

restart
----
  -> scheduler: wake w/1, now
  -> scheduler: wake v/1, now
  due 12:00:30
