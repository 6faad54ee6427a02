# An iteration that has ended and is no longer stored cannot be undone: it is in doubt.
step ship repeat=5 until-index=4

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  due 12:10:05

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 2, next 2 of 5, open 1, 0 processed at 12:00:00, undone down to 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: undo {"item":{"n":0},"index":1}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 2 of 5, open 0, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo 
  due 12:10:05

event child ship 0/2 expired
----
  Error (undo), because of cancel
    ship Waiting, attempt 2, next 2 of 5, open 0 expired, 0 processed at 12:00:00, waits until 12:10:00
      error of attempt 2 at 12:00:00, child-in-doubt: child 0 (o1~ship~0) is no longer stored, so it cannot be undone; undo by hand what it did, and resolve the step as undone
  -> shop: failed, number 1, ship child-in-doubt child 0 (o1~ship~0) is no longer stored, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Waiting, attempt 2
  -> operator: undo of step "ship", child-in-doubt: child 0 (o1~ship~0) is no longer stored, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 1; resubmit; undo)
  reported
  attention 12:00:00

event resolve r1 ship undone
----
  resolve r1 accepted: 
    ship Waiting, attempt 2, next 2 of 5, 0 processed at 12:00:00, waits until 12:10:00
  attention 12:00:00

event resubmit r2
----
  resubmit r2 accepted: 
  Cancelled, because of cancel
    ship Compensated, attempt 2, next 2 of 5, 0 processed at 12:00:00
  -> shop: cancelled, number 2, 
       ship Compensated, attempt 2
  reported
  at rest
