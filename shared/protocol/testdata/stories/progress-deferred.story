# An attempt that has just reported hands its work on, until a time that it names (P43).
step film long=3h timeout=2m

event submit
event progress film/1 10
wait 5s
event progress film/1 10
event progress film/1 10 until=2m20s
event progress film/1 10 until=2h
wait 1h
sweep
event done film/1
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:02:20
  -> film-agent: do-film (do/1), key o1/0/film, stop by 15:00:20 {"order":{"n":1}}
  due 12:02:20
    film Processing, attempt 1, at 10 % , locked by scheduler-1, complete by 12:02:20
  due 12:02:20
12:00:05
  ignored: progress was stored a moment ago
  due 12:02:20
  ignored: progress was stored a moment ago
  due 12:02:20
    film Processing, attempt 1, at 10 % , locked by scheduler-1, complete by 14:00:05
  due 12:02:20
13:00:05
nothing is overdue; due pushed: true
  due 14:00:05
  Processed
    film Processed, attempt 1
  -> shop: completed, number 1, 
       film Processed, attempt 1
  reported
  at rest
