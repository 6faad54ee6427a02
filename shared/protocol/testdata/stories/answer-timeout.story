# No answer in time: the order is undone. The Supervisor counts nothing, and wakes the Scheduler (P37, P33).
step approve answers=yes,no timeout=10m
step b

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake approve/1, at 12:10:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  due 12:00:30

event wake approve/1
----
  ignored: its wait is not over
  due 12:00:30

wait 11m
sweep
----
12:11:00
supervisor: Overdue{"Step":"approve","Attempt":1,"Queue":0}
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:11:05
  -> scheduler: wake approve/1, now
  due 12:11:05

event wake approve/1
----
  Compensating, because of failure
    approve Failed, attempt 1, round 1, decided null by timeout
      error of attempt 1 at 12:11:00, answer-timeout: no answer came in time
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:11:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:11:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:11:05

event answer approve/1 yes by=ann
----
  answer a1 refused: the order no longer goes forward; it is Compensating; the time for an answer to step approve was over at 2026-11-21T12:11:00.000Z
  due 12:11:05

event undone b/2
----
  Compensated, because of failure
    approve Compensated, attempt 1, round 1, decided null by timeout
    b Compensated, attempt 2
  -> shop: undone, number 1, approve answer-timeout no answer came in time
       approve Compensated, attempt 1
       b Compensated, attempt 2
  reported
  at rest
