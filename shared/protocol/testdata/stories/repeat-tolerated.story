# An iteration that fails may be tolerated. The next one begins from the output of the one before it.
step ship repeat=4 until-index=2 tolerate=1

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 4, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 4, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  due 12:10:05

event child ship 1/1 compensated
----
    ship Waiting, attempt 1, next 3 of 4, open 2, 0 processed at 12:00:00, 1 compensated at 12:00:00, 1 failed: [1], failed: it was undone, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":{"n":0},"index":2}
  due 12:10:05

event child ship 2/1 processed
----
  Processed
    ship Processed, attempt 1, next 3 of 3, 0 processed at 12:00:00, 1 compensated at 12:00:00, 2 processed at 12:00:00, 1 failed: [1], failed: it was undone
  -> shop: completed, number 1, 
       ship Processed, attempt 1
  reported
  at rest
