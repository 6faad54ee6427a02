# An iteration that was refused does not exist: the undo does not ask it, and a Resubmit asks it with its order.
step a
step ship repeat=5 until-index=4 stop tolerate=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:00:30

event child ship 0/1 compensated code=refused
----
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 compensated at 12:00:00, 1 failed: [0], refused: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"previous":null,"index":1}
  due 12:00:30

event child ship 1/1 refused code=too-large
----
  Error (forward)
    ship Failed, attempt 1, next 1 of 5, 0 compensated at 12:00:00, 1 refused at 12:00:00, 2 failed: [0 1], too-large: it is too large
      error of attempt 1 at 12:00:00, too-large: it is too large
  -> shop: failed, number 1, ship too-large it is too large
       a Processing, attempt 1
       ship Failed, attempt 1
  -> operator: forward of step "ship", too-large: it is too large (answer to command 0; resubmit; undo)
  reported
  due 12:00:30

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Waiting, attempt 2, next 1 of 5, open 0, 0 compensated at 12:00:00, 1 refused at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: start 
  -> scheduler: wake ship/2, at 12:10:00
  due 12:00:30

event child ship 0/2 processed
----
    ship Waiting, attempt 2, next 2 of 5, open 1, 0 compensated at 12:00:00, 1 refused at 12:00:00, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: start {"item":{"n":0},"index":1}
  due 12:00:30

event child ship 1/2 refused code=too-large
----
  Error (forward)
    ship Failed, attempt 2, next 1 of 5, 0 compensated at 12:00:00, 1 refused at 12:00:00, 0 processed at 12:00:00, 1 refused at 12:00:00, 1 failed: [1], too-large: it is too large
      error of attempt 2 at 12:00:00, too-large: it is too large
  -> shop: failed, number 2, ship too-large it is too large
       a Processing, attempt 1
       ship Failed, attempt 2
  -> operator: forward of step "ship", too-large: it is too large (answer to command 1; resubmit; undo)
  reported
  due 12:00:30

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    ship Waiting, attempt 3, next 1 of 5, open 0, 0 compensated at 12:00:00, 1 refused at 12:00:00, 0 processed at 12:00:00, 1 refused at 12:00:00, 1 failed: [1], too-large: it is too large, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/3: undo 
  -> scheduler: wake ship/3, at 12:10:00
  due 12:00:30

event child ship 0/3 compensated
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    ship Compensated, attempt 3, next 1 of 5, 0 compensated at 12:00:00, 1 refused at 12:00:00, 0 processed at 12:00:00, 1 refused at 12:00:00, 1 failed: [1], too-large: it is too large
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of operator
    a Compensated, attempt 2
  -> shop: undone, number 3, ship too-large it is too large
       a Compensated, attempt 2
       ship Compensated, attempt 3
  reported
  at rest
