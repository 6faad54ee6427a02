# A value stands for the answer that did not come; one of seven days is left to the Supervisor (P37).
step approve answers=yes,no timeout=7d timeout-value=yes
step b after=approve

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until day 7 12:00:00, complete by day 7 12:00:00
    b Pending
  -> scheduler: wake approve/1, at day 7 12:00:00
  due day 7 12:00:00

wait 168h
sweep
----
day 7 12:00:00
supervisor: Overdue{"Step":"approve","Attempt":1,"Queue":0}
    approve Waiting, attempt 1, round 1, waits until day 7 12:00:00, complete by day 7 12:00:05
  -> scheduler: wake approve/1, now
  due day 7 12:00:05

event wake approve/1
----
    approve Processed, attempt 1, round 1, decided "yes" by timeout
    b Processing, attempt 1, locked by scheduler-1, complete by day 7 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by day 7 12:00:30 {"order":{"n":1},"seen":{"approve":{"value":"yes","by":"timeout","at":"2026-11-28T12:00:00.000Z"}}}
  due day 7 12:00:05

event answer approve/1 no by=ann
----
  answer a1 refused: step approve was decided at 2026-11-28T12:00:00.000Z: "yes" by timeout
  due day 7 12:00:05
