# A loser that was closed by hand stops the order, until the operator has undone what it did.
step ship each=a,b,c enough=1

event submit
----
  Processing
    ship Waiting, attempt 1, next 3 of 3, 1 are enough, open 0, open 1, open 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> o1~ship~2/1: start {"item":"c","index":2}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 1/1 processed
----
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0, open 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: undo {"item":"a","index":0}
  -> o1~ship~2/1: undo {"item":"c","index":2}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 error
----
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0 error, open 2, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 2/1 closed
----
  Error (forward)
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0 error, open 2 closed
      error of attempt 1 at 12:00:00, child-in-doubt: child 2 (o1~ship~2) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
  -> shop: failed, number 1, ship child-in-doubt child 2 (o1~ship~2) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Settling, attempt 1
  -> operator: forward of step "ship", child-in-doubt: child 2 (o1~ship~2) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resolve r1 ship undone
----
  resolve r1 accepted: 
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0 error
  attention 12:00:00

event resubmit r2
----
  resubmit r2 accepted: 
  Processing
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: undo {"item":"a","index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 compensated
----
  Processed
    ship Processed, attempt 1, next 3 of 3, 1 are enough
  -> shop: completed, number 2, 
       ship Processed, attempt 1
  reported
  at rest
