# A condition that fails is a failure of the step.
step ship repeat=5 until-index=-1

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
  Compensating, because of failure
    ship Waiting, attempt 2, next 1 of 5, open 0, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, expression: until: no such field
  -> o1~ship~0/2: undo 
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 0/2 compensated
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 1 of 5, 0 processed at 12:00:00
  -> shop: undone, number 1, ship expression until: no such field
       ship Compensated, attempt 2
  reported
  at rest
