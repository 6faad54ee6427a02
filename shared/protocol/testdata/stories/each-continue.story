# The order goes on without the step, whose children are undone first (P42).
step ship each=a,b at-once=2 continue
step other when-failed=ship after=ship

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    other Pending
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 2, open 1, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 1/1 compensated code=no-stock
----
    ship Waiting, attempt 2, failed for good: children-failed, next 2 of 2, open 1, open 0, 1 failed: [1], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, children-failed: 1 of 2 children failed, 0 may; the first: child 1, no-stock: it was undone
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event wake ship/2
----
  ignored: its wait is not over
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, failed for good: children-failed, next 2 of 2, open 0, 1 failed: [1], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 0/2 compensated
----
    ship Compensated, attempt 2, failed for good: children-failed, next 2 of 2, 1 failed: [1], no-stock: it was undone
    other Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> other-agent: do-other (do/1), key o1/0/other, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done other/1
----
  Processed
    other Processed, attempt 1
  -> shop: completed, number 1, 
       ship Compensated, attempt 2
       other Processed, attempt 1
  reported
  at rest
