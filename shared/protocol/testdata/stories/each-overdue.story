# The Supervisor leaves the undo of a child to a Scheduler (P16). A child that reports twice that it has stopped changes
# nothing the second time (P41).
step x failures=1 grade=fenced
step ship child

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> o1~ship~0/1: start {"n":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:00:30

event child ship 0/1 processed output=none
----
    ship Processed, attempt 1, next 1 of 1
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"x","Attempt":1,"Queue":0}
  Compensating, because of failure
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    ship UndoWait, attempt 1, next 1 of 1, complete by 12:00:36
    attempt x/1 ended: overdue timeout
  -> scheduler: wake ship/1, now
  due 12:00:36

event wake ship/1
----
    ship Waiting, attempt 2, next 1 of 1, open 0, waits until 12:10:31, complete by 12:10:36
  -> o1~ship~0/2: undo {"n":1}
  -> scheduler: wake ship/2, at 12:10:31
  due 12:00:36

event child ship 0/2 error
----
    ship Waiting, attempt 2, next 1 of 1, open 0 error, waits until 12:10:31, complete by 12:10:36
  due 12:00:36

event child ship 0/2 error
----
  ignored: it was reported before
  due 12:00:36
