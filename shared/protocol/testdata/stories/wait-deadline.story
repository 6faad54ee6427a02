# At the deadline the Supervisor wakes each wait, and the Scheduler ends it (P23a).
workflow deadline=20s on-deadline=undo
step a
step w wait=10m after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event done a/1
----
    a Processed, attempt 1
    w Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
  -> scheduler: wake w/1, at 12:10:00
  due 12:00:20

wait 20s
sweep
----
12:00:20
supervisor: DeadlinePassed{"Run":0}
  Compensating, because of deadline
    a UndoWait, attempt 1, complete by 12:00:25
    w Compensated, attempt 1
  -> scheduler: wake a/1, now
  due 12:00:25

event wake a/1
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:50
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:50 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:25

event undone a/2
----
  Compensated, because of deadline
    a Compensated, attempt 2
  -> shop: undone, number 1, deadline the deadline of the order has passed
       a Compensated, attempt 2
       w Compensated, attempt 1
  reported
  at rest
