# A cancel while the losers are undone undoes the winners too.
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

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 2, next 3 of 3, 1 are enough, open 0, open 2, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo {"item":"a","index":0}
  -> o1~ship~2/2: undo {"item":"c","index":2}
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:10:05

event child ship 2/2 compensated
----
    ship Waiting, attempt 2, next 3 of 3, 1 are enough, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 3 of 3, 1 are enough, open 0, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 0/2 compensated
----
  Cancelled, because of cancel
    ship Compensated, attempt 2, next 3 of 3, 1 are enough
  -> shop: cancelled, number 1, 
       ship Compensated, attempt 2
  reported
  at rest
