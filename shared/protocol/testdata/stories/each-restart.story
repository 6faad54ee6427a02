# The next run has children of its own, since its orders may be others.
step ship each=a at-once=1

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 compensated
----
  Compensating, because of failure
    ship Waiting, attempt 2, next 1 of 1, open 0, 1 failed: [0], failed: it was undone, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, children-failed: 1 of 1 children failed, 0 may; the first: child 0, failed: it was undone
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 0/2 compensated
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 1 of 1, 1 failed: [0], failed: it was undone
  -> shop: undone, number 1, ship children-failed 1 of 1 children failed, 0 may; the first: child 0, failed: it was undone
       ship Compensated, attempt 2
  reported
  at rest

event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    ship Waiting, attempt 3, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0.1/3: start {"item":"a","index":0}
  -> scheduler: wake ship/3, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
  ignored: it belongs to an earlier attempt
  due 12:10:05

event child ship 0/3 processed
----
  Processed, run 1
    ship Processed, attempt 3, next 1 of 1
  -> shop: completed, number 2, 
       ship Processed, attempt 3
  reported
  at rest
