# P54: the order's deadline does not apply once nothing is left but the undo of losers.
workflow deadline=1m on-deadline=undo
step decided-one continue
step decided-two continue grade=idempotent
step decided any=one,two

event submit
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done decided-one/1
----
    decided-one Processed, attempt 1
    decided-two Processing, attempt 1, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided Settling, attempt 1, won: one
  due 12:00:30

wait 61s
sweep
----
12:01:01
supervisor: Overdue{"Step":"decided-two","Attempt":1,"Queue":0}
    decided-two UndoWait, attempt 1, withdrawn: overtaken, complete by 12:01:06
      error of attempt 1 at 12:01:01, timeout: no reply by the complete-by time
    attempt decided-two/1 ended: overdue timeout
  -> scheduler: wake decided-two/1, now
supervisor: DeadlinePassed{"Run":0}
  due 12:01:06

event wake decided-two/1
----
    decided-two Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:01:31
  -> decided-two-agent: undo-decided-two (undo/2), key o1/0/decided-two, stop by 12:01:31 {"order":{"n":1}}
  due 12:01:06
