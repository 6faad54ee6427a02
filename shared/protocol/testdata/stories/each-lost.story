# Requests that are lost are sent again after 10 minutes, then 20, at most 6 hours apart.
step ship each=a,b at-once=2

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05

wait 10m
event wake ship/1
----
12:10:00
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:30:00, complete by 12:30:00
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:30:00
  due 12:10:05

event wake ship/1
----
  ignored: its wait is not over
  -> scheduler: wake ship/1, at 12:30:00
  due 12:10:05

wait 20m
sweep
event wake ship/1
----
12:30:00
supervisor: Overdue{"Step":"ship","Attempt":1,"Queue":0}
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:30:00, complete by 12:30:05
  -> scheduler: wake ship/1, now
  due 12:30:05
    ship Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 13:10:00, complete by 13:10:00
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 13:10:00
  due 12:30:05

event child ship 0/1 processed crash
----
    ship Waiting, attempt 1, next 2 of 2, open 1, waits until 13:10:00, complete by 13:10:00
  the process dies before it has sent anything
  due 12:30:05

restart
----
  -> scheduler: wake ship/1, at 13:10:00
  -> o1~ship~1/1: start {"item":"b","index":1}
  due 12:30:05

event child ship 1/1 processed
----
  Processed
    ship Processed, attempt 1, next 2 of 2
  -> shop: completed, number 1, 
       ship Processed, attempt 1
  reported
  at rest
