# P57, P49: a repeat of fewer iterations than have begun is exhausted.
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

to step all repeat=1 every=1m until-index=9
event move m
----
  move m accepted: 
  due 12:01:05

event child all 1/1 processed
----
  Compensating, because of failure
    all Waiting, attempt 2, next 2 of 5, open 1, 0 processed at 12:00:00, 1 processed at 12:01:00, undone down to 1, waits until 12:11:00, complete by 12:11:05
      error of attempt 1 at 12:01:00, exhausted: the condition of its repeat is still false after iteration 2
  -> o1~all~1/2: undo 
  -> scheduler: wake all/2, at 12:11:00
  due 12:01:05
