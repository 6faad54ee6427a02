# P23a. Broken by: deadline does not compare the run.
workflow on-deadline=undo
step a

event submit deadline=1h
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
  reported
  at rest

event resubmit r1 deadline=1m
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 1h
event deadline run=0
----
13:00:00
  ignored: it belongs to another run
  due 12:00:30

event deadline
----
  Compensating, because of deadline, run 1
    a UndoWait, attempt 3, complete by 13:00:05
    attempt a/3 ended: superseded
  -> scheduler: wake a/3, now
  due 13:00:05
