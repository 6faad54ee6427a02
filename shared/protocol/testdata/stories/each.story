# One child for each item, at most two at once; a step after it waits for all (P40).
step ship each=a,b,c at-once=2 collect
step b after=ship

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 3, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 1, open 2, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:10:05

event child ship 0/1 processed
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:10:05

event child ship 2/1 error
----
    ship Waiting, attempt 1, next 3 of 3, open 1, open 2 error, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 2/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 1, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 1/1 processed
----
    ship Processed, attempt 1, next 3 of 3
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":3,"failed":0,"results":[{"n":0},{"n":1},{"n":2}]}}}
  due 12:00:30
