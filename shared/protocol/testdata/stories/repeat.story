# Each iteration begins from the output of the one before, in the decision that closes that one. A copy of a report
# changes nothing.
step ship repeat=5 until-index=2
step b after=ship

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  due 12:10:05

event child ship 0/1 processed crash
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  the process dies before it has sent anything
  due 12:10:05

event child ship 1/1 processed crash
----
    ship Waiting, attempt 1, next 3 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":{"n":1},"index":2}
  the process dies before it has sent anything
  due 12:10:05

event child ship 1/1 processed
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> o1~ship~2/1: start {"item":{"n":1},"index":2}
  due 12:10:05

wait 10m
event wake ship/1
----
12:10:00
    ship Waiting, attempt 1, next 3 of 5, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, waits until 12:30:00, complete by 12:30:00
  -> o1~ship~2/1: start {"item":{"n":1},"index":2}
  -> scheduler: wake ship/1, at 12:30:00
  due 12:10:05

event child ship 2/1 processed
----
    ship Processed, attempt 1, next 3 of 3, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 processed at 12:10:00
    b Processing, attempt 1, locked by scheduler-1, complete by 12:10:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:10:30 {"order":{"n":1},"seen":{"ship":{"count":3,"exhausted":false,"last":{"n":2}}}}
  due 12:10:05
