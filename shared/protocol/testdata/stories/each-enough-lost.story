# The request for the undo is lost: the step asks again. A restart sends it again too.
step ship each=a,b enough=1

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, 1 are enough, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

event child ship 0/1 processed crash
----
    ship Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: undo {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  the process dies before it has sent anything
  due 12:10:05

event child ship 0/1 processed
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> scheduler: wake ship/1, at 12:10:00
  -> o1~ship~1/1: undo {"item":"b","index":1}
  due 12:10:05

restart
----
  -> scheduler: wake ship/1, at 12:10:00
  -> o1~ship~1/1: undo {"item":"b","index":1}
  due 12:10:05

wait 10m
event wake ship/1
----
12:10:00
    ship Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 12:30:00, complete by 12:30:00
  -> o1~ship~1/1: undo {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:30:00
  due 12:10:05

wait 21m
sweep
----
12:31:00
supervisor: Overdue{"Step":"ship","Attempt":1,"Queue":0}
    ship Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 12:30:00, complete by 12:31:05
  -> scheduler: wake ship/1, now
  due 12:31:05

event wake ship/1
----
    ship Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 13:11:00, complete by 13:11:00
  -> o1~ship~1/1: undo {"item":"b","index":1}
  -> scheduler: wake ship/1, at 13:11:00
  due 12:31:05

event child ship 1/1 compensated
----
  Processed
    ship Processed, attempt 1, next 2 of 2, 1 are enough
  -> shop: completed, number 1, 
       ship Processed, attempt 1
  reported
  at rest
