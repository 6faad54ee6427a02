# Between two iterations the step waits for a fixed time, and no child is open. A cancel ends the wait.
step ship repeat=5 until-index=4 every=1h

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 1 of 5, 0 processed at 12:00:00, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake ship/1, at 13:00:00
  due 12:10:05

event child ship 0/1 processed
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> scheduler: wake ship/1, at 13:00:00
  due 12:10:05

wait 30m
event wake ship/1
----
12:30:00
  ignored: its wait is not over
  due 12:10:05

wait 30m
event wake ship/1
----
13:00:00
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 13:10:00, complete by 13:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  -> scheduler: wake ship/1, at 13:10:00
  due 12:10:05

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 2 of 5, 0 processed at 12:00:00, 1 processed at 13:00:00, waits until 14:00:00, complete by 14:00:00
  -> scheduler: wake ship/1, at 14:00:00
  due 12:10:05

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    ship Waiting, attempt 2, next 2 of 5, open 1, 0 processed at 12:00:00, 1 processed at 13:00:00, undone down to 1, waits until 13:10:00, complete by 13:10:05
  -> o1~ship~1/2: undo 
  -> scheduler: wake ship/2, at 13:10:00
  due 12:10:05

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 2 of 5, open 0, 0 processed at 12:00:00, 1 processed at 13:00:00, waits until 13:10:00, complete by 13:10:05
  -> o1~ship~0/2: undo 
  due 12:10:05

event child ship 0/2 compensated
----
  Cancelled, because of cancel
    ship Compensated, attempt 2, next 2 of 5, 0 processed at 12:00:00, 1 processed at 13:00:00
  -> shop: cancelled, number 1, 
       ship Compensated, attempt 2
  reported
  at rest
