# Progress never moves stopBy, and after stopBy it gives no more time (P43); the undo waits for stopBy where there is no fence (P21).
step film long=2m timeout=30s grade=idempotent failures=1

event submit
wait 25s
event progress film/1 20 until=1h
wait 2m
event progress film/1 90
sweep
wait 5s
event wake film/1
event undone film/2
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:00:50
  -> film-agent: do-film (do/1), key o1/0/film, stop by 12:02:20 {"order":{"n":1}}
  due 12:00:50
12:00:25
    film Processing, attempt 1, at 20 % , locked by scheduler-1, complete by 12:02:20
  due 12:00:50
12:02:25
  ignored: the attempt's stopBy has passed
  due 12:00:50
supervisor: Overdue{"Step":"film","Attempt":1,"Queue":0}
  Compensating, because of failure
    film UndoWait, attempt 1, 1 failed, complete by 12:02:30
      error of attempt 1 at 12:02:25, timeout: no reply by the complete-by time
    attempt film/1 ended: overdue timeout
  -> scheduler: wake film/1, now
  due 12:02:30
12:02:30
    film Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:03:00
  -> film-agent: undo-film (undo/2), key o1/0/film, stop by 12:03:00 {"order":{"n":1}}
  due 12:02:30
  Compensated, because of failure
    film Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, film timeout no reply by the complete-by time
       film Compensated, attempt 2
  reported
  at rest
