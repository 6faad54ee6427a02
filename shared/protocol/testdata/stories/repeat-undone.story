# The iterations are undone in reverse: the open one with its order, because its start may be lost, the others without.
step ship repeat=5 until-index=4
step x stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  due 12:00:30

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 3 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":{"n":1},"index":2}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    x Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt x/1 ended: superseded
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone x/2
----
    ship Waiting, attempt 2, next 3 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, undone down to 2, waits until 12:10:00, complete by 12:10:05
    x Compensated, attempt 2
  -> o1~ship~2/2: undo {"item":{"n":1},"index":2}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:00:30

event child ship 2/2 processed
----
  ignored: the child is to be undone, and is not yet
  due 12:00:30

event child ship 2/2 compensated
----
    ship Waiting, attempt 2, next 3 of 5, open 1, 0 processed at 12:00:00, 1 processed at 12:00:00, undone down to 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/2: undo 
  due 12:00:30

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 3 of 5, open 0, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo 
  due 12:00:30

wait 10m
event wake ship/2
----
12:10:00
    ship Waiting, attempt 2, next 3 of 5, open 0, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:30:00, complete by 12:30:00
  -> o1~ship~0/2: undo 
  -> scheduler: wake ship/2, at 12:30:00
  due 12:00:30

event child ship 0/2 compensated
----
  Cancelled, because of cancel
    ship Compensated, attempt 2, next 3 of 5, 0 processed at 12:00:00, 1 processed at 12:00:00
  -> shop: cancelled, number 1, 
       ship Compensated, attempt 2
       x Compensated, attempt 2
  reported
  at rest
