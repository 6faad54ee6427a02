# A second attempt that has started fewer children undoes those of the first one too (P40).
step ship each=a,b,c at-once=1 stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 3, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":"b","index":1}
  due 12:10:05

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:10:05

event child ship 2/1 compensated
----
  Error (forward)
    ship Failed, attempt 1, next 3 of 3, 1 failed: [2], failed: it was undone
      error of attempt 1 at 12:00:00, children-failed: 1 of 3 children failed, 0 may; the first: child 2, failed: it was undone
  -> shop: failed, number 1, ship children-failed 1 of 3 children failed, 0 may; the first: child 2, failed: it was undone
       ship Failed, attempt 1
  -> operator: forward of step "ship", children-failed: 1 of 3 children failed, 0 may; the first: child 2, failed: it was undone (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Waiting, attempt 2, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: start {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 3, next 1 of 3, open 0, undone down to 3, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/3: undo {"item":"a","index":0}
  -> scheduler: wake ship/3, at 12:10:00
  due 12:10:05

event child ship 0/3 compensated
----
    ship Waiting, attempt 3, next 1 of 3, open 2, undone down to 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/3: undo {"item":"c","index":2}
  due 12:10:05

event child ship 2/3 compensated
----
    ship Waiting, attempt 3, next 1 of 3, open 1, undone down to 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/3: undo {"item":"b","index":1}
  due 12:10:05

event child ship 1/3 compensated
----
    ship Waiting, attempt 3, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/3: undo {"item":"a","index":0}
  due 12:10:05
