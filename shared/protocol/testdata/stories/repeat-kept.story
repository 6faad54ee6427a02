# What the iterations did can stand.
step ship repeat=2 until-index=9 exhausted=keep
step b after=ship

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 2, open 0, waits until 12:10:00, complete by 12:10:05
    b Pending
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
    ship Processed, attempt 1, next 2 of 2, 0 processed at 12:00:00, 1 processed at 12:00:00
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":2,"exhausted":true,"last":{"n":1}}}}
  due 12:00:30
