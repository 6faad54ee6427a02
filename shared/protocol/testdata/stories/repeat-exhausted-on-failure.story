# Without onExhausted, onFailure applies.
step ship repeat=1 until-index=9 stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
  Error (forward)
    ship Failed, attempt 1, next 1 of 1, 0 processed at 12:00:00
      error of attempt 1 at 12:00:00, exhausted: the condition of its repeat is still false after iteration 1
  -> shop: failed, number 1, ship exhausted the condition of its repeat is still false after iteration 1
       ship Failed, attempt 1
  -> operator: forward of step "ship", exhausted: the condition of its repeat is still false after iteration 1 (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00
