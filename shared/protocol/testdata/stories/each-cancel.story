# A cancelled order undoes its children, at a point of no return it does not.
step ship each=a at-once=1 no-return

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event cancel c1
----
  cancel c1 refused: the order is past its point of no return
  due 12:10:05

event child ship 0/1 compensated
----
  Error (forward)
    ship Failed, attempt 1, next 1 of 1, 1 failed: [0], failed: it was undone
      error of attempt 1 at 12:00:00, children-failed: 1 of 1 children failed, 0 may; the first: child 0, failed: it was undone
  -> shop: failed, number 1, ship children-failed 1 of 1 children failed, 0 may; the first: child 0, failed: it was undone
       ship Failed, attempt 1
  -> operator: forward of step "ship", children-failed: 1 of 1 children failed, 0 may; the first: child 0, failed: it was undone (answer to command 0; resubmit)
  reported
  attention 12:00:00
