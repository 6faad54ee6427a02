# An agent that stops reporting is found when the step's timeout has passed since (P43).
step film long=1h timeout=1m grade=idempotent failures=2

event submit
wait 1m
event progress film/1 20 note=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxé
wait 1m
sweep
wait 2s
event wake film/1
event progress film/1 30
wait 1m
event progress film/2 120 note=again
# The reply of the attempt that stopped reporting counts (P15).
event done film/1
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:01:20
  -> film-agent: do-film (do/1), key o1/0/film, stop by 13:00:20 {"order":{"n":1}}
  due 12:01:20
12:01:00
    film Processing, attempt 1, at 20 % xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, locked by scheduler-1, complete by 12:02:00
  due 12:01:20
12:02:00
supervisor: Overdue{"Step":"film","Attempt":1,"Queue":0}
    film Pending, attempt 1, 1 failed, waits until 12:02:01, complete by 12:02:06
      error of attempt 1 at 12:02:00, timeout: no reply by the complete-by time
    attempt film/1 ended: overdue timeout
  -> scheduler: wake film/1, at 12:02:01
  due 12:02:06
12:02:02
    film Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:03:22
  -> film-agent: do-film (do/2), key o1/0/film, stop by 13:02:22 {"order":{"n":1}}
  due 12:02:06
  ignored: it belongs to an earlier attempt
  due 12:02:06
12:03:02
    film Processing, attempt 2, 1 failed, at 100 % again, locked by scheduler-1, complete by 12:04:02
  due 12:02:06
  Processed
    film Processed, attempt 2, 1 failed
  -> shop: completed, number 1, 
       film Processed, attempt 2
  reported
  at rest
