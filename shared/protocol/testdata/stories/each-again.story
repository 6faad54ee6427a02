# A stopped order asks again for what is open; a failed step begins anew, and children that are Processed answer at once.
step ship each=a,b at-once=2 stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 compensated
----
    ship Waiting, attempt 1, next 2 of 2, open 1, 1 failed: [0], failed: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: cancel {"item":"b","index":1}
  due 12:10:05

event child ship 1/1 processed
----
  Error (forward)
    ship Failed, attempt 1, next 2 of 2, 1 failed: [0], failed: it was undone
      error of attempt 1 at 12:00:00, children-failed: 1 of 2 children failed, 0 may; the first: child 0, failed: it was undone
  -> shop: failed, number 1, ship children-failed 1 of 2 children failed, 0 may; the first: child 0, failed: it was undone
       ship Failed, attempt 1
  -> operator: forward of step "ship", children-failed: 1 of 2 children failed, 0 may; the first: child 0, failed: it was undone (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resolve r1 ship not-happened
----
  resolve r1 refused: the step has child tasks, and none of them is in doubt: each has an end of its own; fix: resolve a step of a child that has stopped, then resubmit the child
  attention 12:00:00

event resubmit r2
----
  resubmit r2 accepted: 
  Processing
    ship Waiting, attempt 2, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: start {"item":"a","index":0}
  -> o1~ship~1/2: start {"item":"b","index":1}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 1/2 processed
----
    ship Waiting, attempt 2, next 2 of 2, open 0, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 0/2 processed
----
  Processed
    ship Processed, attempt 2, next 2 of 2
  -> shop: completed, number 2, 
       ship Processed, attempt 2
  reported
  at rest
