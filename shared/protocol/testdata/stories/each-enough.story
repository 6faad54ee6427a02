# The first two of four decide. The others are undone: one that runs, one that has ended meanwhile. What comes after begins
# at the decision, and the order ends when the last of them is undone.
workflow reports
step ship each=a,b,c,d enough=2 collect
step x after=ship

event submit
----
  Processing
    ship Waiting, attempt 1, next 4 of 4, 2 are enough, open 0, open 1, open 2, open 3, waits until 12:10:00, complete by 12:10:05
    x Pending
  -> shop: started, number 1, 
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> o1~ship~2/1: start {"item":"c","index":2}
  -> o1~ship~3/1: start {"item":"d","index":3}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 2/1 processed
----
    ship Waiting, attempt 1, next 4 of 4, 2 are enough, open 0, open 1, open 3, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event child ship 0/1 processed
----
    ship Settling, attempt 1, next 4 of 4, 2 are enough, open 1, open 3, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 2, ship   {"count":4,"failed":0,"won":[2,0],"results":[{"n":0},null,{"n":2},null]}
  -> o1~ship~1/1: undo {"item":"b","index":1}
  -> o1~ship~3/1: undo {"item":"d","index":3}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":4,"failed":0,"won":[2,0],"results":[{"n":0},null,{"n":2},null]}}}
  due 12:00:30

event child ship 0/1 processed
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> shop: step-finished, number 2, ship   {"count":4,"failed":0,"won":[2,0],"results":[{"n":0},null,{"n":2},null]}
  -> scheduler: wake ship/1, at 12:10:00
  -> o1~ship~1/1: undo {"item":"b","index":1}
  -> o1~ship~3/1: undo {"item":"d","index":3}
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":4,"failed":0,"won":[2,0],"results":[{"n":0},null,{"n":2},null]}}}
  due 12:00:30

event child ship 1/1 processed
----
  ignored: the child is to be undone, and is not yet
  due 12:00:30

event done x/1
----
    x Processed, attempt 1
  -> shop: step-finished, number 3, x   {"of":"x"}
  due 12:00:30

event child ship 1/1 compensated
----
    ship Settling, attempt 1, next 4 of 4, 2 are enough, open 3, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event child ship 1/1 compensated
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  due 12:00:30

event child ship 3/1 compensated
----
  Processed
    ship Processed, attempt 1, next 4 of 4, 2 are enough
  -> shop: completed, number 4, 
       ship Processed, attempt 1
       x Processed, attempt 1
  reported
  at rest
