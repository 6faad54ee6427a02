# An iteration that fails stops the order. After a Resubmit those before it answer with what they did, and it begins its
# next run. The condition is not evaluated for those that another one has followed.
step ship repeat=5 until-index=2 stop

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

event child ship 1/1 compensated code=refused
----
  Error (forward)
    ship Failed, attempt 1, next 2 of 5, 0 processed at 12:00:00, 1 compensated at 12:00:00, 1 failed: [1], refused: it was undone
      error of attempt 1 at 12:00:00, refused: it was undone
  -> shop: failed, number 1, ship refused it was undone
       ship Failed, attempt 1
  -> operator: forward of step "ship", refused: it was undone (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Waiting, attempt 2, next 1 of 5, open 0, 0 processed at 12:00:00, 1 compensated at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: start 
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 0/2 processed
----
    ship Waiting, attempt 2, next 2 of 5, open 1, 0 processed at 12:00:00, 1 compensated at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: start 
  due 12:10:05

event child ship 1/2 processed
----
    ship Waiting, attempt 2, next 3 of 5, open 2, 0 processed at 12:00:00, 1 compensated at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/2: start {"item":{"n":1},"index":2}
  due 12:10:05

event child ship 2/2 processed
----
  Processed
    ship Processed, attempt 2, next 3 of 3, 0 processed at 12:00:00, 1 compensated at 12:00:00, 1 processed at 12:00:00, 2 processed at 12:00:00
  -> shop: completed, number 2, 
       ship Processed, attempt 2
  reported
  at rest
