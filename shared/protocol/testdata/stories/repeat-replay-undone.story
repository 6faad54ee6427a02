# An undo during the replay begins with the latest iteration too.
step ship repeat=5 until-index=4 stop

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

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 3 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":{"n":1},"index":2}
  due 12:10:05

event child ship 2/1 compensated code=refused
----
  Error (forward)
    ship Failed, attempt 1, next 3 of 5, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, 1 failed: [2], refused: it was undone
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
    ship Waiting, attempt 2, next 1 of 5, open 0, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: start 
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 0/2 processed
----
    ship Waiting, attempt 2, next 2 of 5, open 1, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: start 
  due 12:10:05

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 3, next 2 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, undone down to 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/3: undo 
  -> scheduler: wake ship/3, at 12:10:00
  due 12:10:05

event child ship 1/2 processed
----
  ignored: it belongs to an earlier attempt
  due 12:10:05

event child ship 2/3 compensated
----
    ship Waiting, attempt 3, next 2 of 5, open 1, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, undone down to 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/3: undo 
  due 12:10:05

event child ship 1/3 compensated
----
    ship Waiting, attempt 3, next 2 of 5, open 0, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/3: undo 
  due 12:10:05

event child ship 0/3 compensated
----
  Cancelled, because of cancel
    ship Compensated, attempt 3, next 2 of 5, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 compensated at 12:00:00
  -> shop: cancelled, number 2, 
       ship Compensated, attempt 3
  reported
  at rest
