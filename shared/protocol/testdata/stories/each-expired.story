# A child that was closed by hand cannot be undone: the operator undoes it by hand, and says so.
step ship each=a,b at-once=2
step x

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 0/1 closed
----
    ship Waiting, attempt 1, next 2 of 2, open 1, 1 failed: [0], failed: it was closed, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: cancel {"item":"b","index":1}
  due 12:00:30

event child ship 1/1 compensated
----
  Compensating, because of failure
    ship Failed, attempt 1, next 2 of 2, 1 failed: [0], failed: it was closed
      error of attempt 1 at 12:00:00, children-failed: 1 of 2 children failed, 0 may; the first: child 0, failed: it was closed
    x Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt x/1 ended: superseded
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone x/2
----
    ship Waiting, attempt 2, next 2 of 2, open 1, open 0, 1 failed: [0], failed: it was closed, waits until 12:10:00, complete by 12:10:05
    x Compensated, attempt 2
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:00:30

event child ship 1/2 closed
----
  Error (undo), because of failure
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0, 1 failed: [0], failed: it was closed, waits until 12:10:00
      error of attempt 2 at 12:00:00, child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
  -> shop: failed, number 1, ship child-in-doubt child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Waiting, attempt 2
       x Compensated, attempt 2
  -> operator: undo of step "ship", child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event child ship 0/2 expired
----
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0 expired, 1 failed: [0], failed: it was closed, waits until 12:10:00
  attention 12:00:00

event resolve r1 ship not-happened
----
  resolve r1 refused: children of the step were closed, or are no longer stored, and cannot be undone; fix: undo by hand what they did, and resolve the step as undone
  attention 12:00:00

event resolve r2 ship undone
----
  resolve r2 accepted: 
    ship Waiting, attempt 2, next 2 of 2, 1 failed: [0], failed: it was closed, waits until 12:10:00
  attention 12:00:00

event resubmit r3
----
  resubmit r3 accepted: 
  Compensated, because of failure
    ship Compensated, attempt 2, next 2 of 2, 1 failed: [0], failed: it was closed
  -> shop: undone, number 2, ship children-failed 1 of 2 children failed, 0 may; the first: child 0, failed: it was closed
       ship Compensated, attempt 2
       x Compensated, attempt 2
  reported
  at rest
