# The deadline of the order ends a question (P23a).
workflow deadline=1m on-deadline=undo
step a
step approve answers=yes,no after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30

wait 1m
sweep
----
12:01:00
supervisor: DeadlinePassed{"Run":0}
  Compensating, because of deadline
    a UndoWait, attempt 1, complete by 12:01:05
    approve Compensated, attempt 1, round 1
  -> scheduler: wake a/1, now
  due 12:01:05

event answer approve/1 yes by=ann
----
  answer a1 refused: the order no longer goes forward; it is Compensating
  due 12:01:05

event wake a/1
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:01:30
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:01:05

event undone a/2
----
  Compensated, because of deadline
    a Compensated, attempt 2
  -> shop: undone, number 1, deadline the deadline of the order has passed
       a Compensated, attempt 2
       approve Compensated, attempt 1
  reported
  at rest
