# Without an end after all iterations the step has failed, and the order is undone.
step ship repeat=2 until-index=9

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 2, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 2, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  due 12:10:05

event child ship 1/1 processed
----
  Compensating, because of failure
    ship Waiting, attempt 2, next 2 of 2, open 1, 0 processed at 12:00:00, 1 processed at 12:00:00, undone down to 1, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, exhausted: the condition of its repeat is still false after iteration 2
  -> o1~ship~1/2: undo 
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 2 of 2, open 0, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo 
  due 12:10:05

event child ship 0/2 compensated
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 2 of 2, 0 processed at 12:00:00, 1 processed at 12:00:00
  -> shop: undone, number 1, ship exhausted the condition of its repeat is still false after iteration 2
       ship Compensated, attempt 2
  reported
  at rest
