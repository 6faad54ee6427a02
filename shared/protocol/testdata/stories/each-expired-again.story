# P12: a copy of the report that has stopped an undo commits nothing, and emits the end again.
step ship each=a,b at-once=2

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 2, open 1, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 2, next 2 of 2, open 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 1/2 closed crash
----
  Error (undo), because of cancel
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0, waits until 12:10:00
      error of attempt 2 at 12:00:00, child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
  -> shop: failed, number 1, ship child-in-doubt child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Waiting, attempt 2
  -> operator: undo of step "ship", child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 1; resubmit; undo)
  the process dies before it has sent anything
  due 12:01:00

event child ship 1/2 closed
----
  ignored: it was reported before
  -> shop: failed, number 1, ship child-in-doubt child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Waiting, attempt 2
  -> operator: undo of step "ship", child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 1; resubmit; undo)
  reported
  attention 12:00:00

event child ship 0/2 expired
----
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0 expired, waits until 12:10:00
  attention 12:00:00

event child ship 0/2 expired
----
  ignored: it was reported before
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0 expired, waits until 12:20:00, complete by 12:20:00
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> scheduler: wake ship/2, at 12:20:00
  due 12:20:00

event child ship 1/2 closed
----
  Error (undo), because of cancel
    ship Waiting, attempt 2, next 2 of 2, open 1 closed, open 0 expired, waits until 12:20:00
  -> shop: failed, number 2, ship child-in-doubt child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone
       ship Waiting, attempt 2
  -> operator: undo of step "ship", child-in-doubt: child 1 (o1~ship~1) was closed by hand, so it cannot be undone; undo by hand what it did, and resolve the step as undone (answer to command 2; resubmit; undo)
  reported
  attention 12:00:00
