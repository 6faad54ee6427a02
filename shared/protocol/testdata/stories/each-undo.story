# The step after fails, and the children are undone, the open ones first; at most two at once (P41).
step ship each=a,b,c at-once=2
step x

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 3, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 1, open 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:00:30

event failed x/1
----
  Compensating, because of failure
    x Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 2, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event undone x/2
----
    ship Waiting, attempt 2, next 3 of 3, open 2, open 1, undone down to 1, waits until 12:10:00, complete by 12:10:05
    x Compensated, attempt 2, 1 failed
  -> o1~ship~2/2: undo {"item":"c","index":2}
  -> o1~ship~1/2: undo {"item":"b","index":1}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:00:30

event child ship 2/1 processed
----
  ignored: it belongs to an earlier attempt
  due 12:00:30

event child ship 2/2 processed
----
  ignored: the child is to be undone, and is not yet
  due 12:00:30

event child ship 2/2 error
----
    ship Waiting, attempt 2, next 3 of 3, open 2 error, open 1, undone down to 1, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event child ship 1/2 compensated
----
    ship Waiting, attempt 2, next 3 of 3, open 2 error, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/2: undo {"item":"a","index":0}
  due 12:00:30

event child ship 0/2 compensated
----
    ship Waiting, attempt 2, next 3 of 3, open 2 error, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event child ship 2/2 compensated
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 3 of 3
  -> shop: undone, number 1, x refused the service refused
       ship Compensated, attempt 2
       x Compensated, attempt 2
  reported
  at rest
