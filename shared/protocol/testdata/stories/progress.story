# An attempt of a step with a maxDuration is at work for longer than the timeout, and reports so (P43).
workflow reports
step film long=1h timeout=1m

event submit
wait 50s
event progress film/1 20 note=frames
# A report that comes again, and one that comes too soon, change nothing.
event progress film/1 20 note=frames
wait 10s
event progress film/1 30 note=frames
# What an agent has said of an earlier time does not shorten the time it has.
wait 20s
event progress film/1 40 note=frames until=1s
# An agent may say until when it cannot report.
# Of a short timeout a quarter is enough between two.
wait 16s
event progress film/1 50 note=frames
wait 24s
event progress film/1 60 note=sound until=20m
sweep
wait 20m
event done film/1
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:01:20
  -> shop: started, number 1, 
  -> film-agent: do-film (do/1), key o1/0/film, stop by 13:00:20 {"order":{"n":1}}
  due 12:01:20
12:00:50
    film Processing, attempt 1, at 20 % frames, locked by scheduler-1, complete by 12:01:50
  -> shop: progress, number 0, film, 20 % frames
  due 12:01:20
  ignored: progress was stored a moment ago
  due 12:01:20
12:01:00
  ignored: progress was stored a moment ago
  due 12:01:20
12:01:20
    film Processing, attempt 1, at 40 % frames, locked by scheduler-1, complete by 12:01:50
  -> shop: progress, number 0, film, 40 % frames
  due 12:01:20
12:01:36
    film Processing, attempt 1, at 50 % frames, locked by scheduler-1, complete by 12:02:36
  -> shop: progress, number 0, film, 50 % frames
  due 12:01:20
12:02:00
    film Processing, attempt 1, at 60 % sound, locked by scheduler-1, complete by 12:22:00
  -> shop: progress, number 0, film, 60 % sound
  due 12:01:20
nothing is overdue; due pushed: true
  due 12:22:00
12:22:00
  Processed
    film Processed, attempt 1
  -> shop: step-finished, number 2, film   {"of":"film"}
  -> shop: completed, number 3, 
       film Processed, attempt 1
  reported
  at rest
