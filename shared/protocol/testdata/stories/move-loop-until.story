# P57, P49: another repeat holds from the next end of an iteration on.
step all repeat=5 every=1m until-index=9

event submit
----
  Processing
    all Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~all~0/1: start {"previous":null,"index":0}
  -> scheduler: wake all/1, at 12:10:00
  due 12:10:05

event child all 0/1 processed
----
    all Waiting, attempt 1, next 1 of 5, 0 processed at 12:00:00, waits until 12:01:00, complete by 12:01:05
  -> scheduler: wake all/1, at 12:01:00
  due 12:01:05

wait 1m
event wake all/1
----
12:01:00
    all Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 12:11:00, complete by 12:11:05
  -> o1~all~1/1: start {"item":{"n":0},"index":1}
  -> scheduler: wake all/1, at 12:11:00
  due 12:01:05

to step all repeat=5 every=1m until-index=1
event move m
----
  move m accepted: 
  due 12:01:05

event child all 1/1 processed
----
  Processed
    all Processed, attempt 1, next 2 of 2, 0 processed at 12:00:00, 1 processed at 12:01:00
  -> shop: completed, number 1, 
       all Processed, attempt 1
  reported
  at rest
