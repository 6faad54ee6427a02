# Three of four must end well, so one may fail. The second that fails stops the others.
step ship each=a,b,c,d enough=3 at-once=2

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 4, 3 are enough, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 compensated code=no-stock
----
    ship Waiting, attempt 1, next 3 of 4, 3 are enough, open 1, open 2, 1 failed: [0], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:10:05

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 4 of 4, 3 are enough, open 2, open 3, 1 failed: [0], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~3/1: start {"item":"d","index":3}
  due 12:10:05

event child ship 2/1 compensated code=no-stock
----
    ship Waiting, attempt 1, next 4 of 4, 3 are enough, open 3, 2 failed: [0 2], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~3/1: cancel {"item":"d","index":3}
  due 12:10:05

event child ship 3/1 processed
----
  Compensating, because of failure
    ship Waiting, attempt 2, next 4 of 4, 3 are enough, open 3, open 2, undone down to 2, 2 failed: [0 2], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, children-failed: 2 of 4 children failed, 1 may; the first: child 0, no-stock: it was undone
  -> o1~ship~3/2: undo {"item":"d","index":3}
  -> o1~ship~2/2: undo {"item":"c","index":2}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 3/2 compensated
----
    ship Waiting, attempt 2, next 4 of 4, 3 are enough, open 2, open 1, undone down to 1, 2 failed: [0 2], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: undo {"item":"b","index":1}
  due 12:10:05

event child ship 2/2 compensated
----
    ship Waiting, attempt 2, next 4 of 4, 3 are enough, open 1, open 0, 2 failed: [0 2], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo {"item":"a","index":0}
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 4 of 4, 3 are enough, open 0, 2 failed: [0 2], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 0/2 compensated
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 4 of 4, 3 are enough, 2 failed: [0 2], no-stock: it was undone
  -> shop: undone, number 1, ship children-failed 2 of 4 children failed, 1 may; the first: child 0, no-stock: it was undone
       ship Compensated, attempt 2
  reported
  at rest
