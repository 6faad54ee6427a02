# P32, P43. The machine sleeps while an agent works that has reported. That is no failure, and no time in a queue.
# Broken by: an attempt that has reported counts; its work counts as time in a queue.
step film long=6h timeout=1m failures=1 queue=5m

event submit
wait 50s
event progress film/1 20 until=2h
wait 60h
event overdue film/1 queue=passed
event wake film/1
wait 2m
event overdue film/2
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:01:20
  -> film-agent: do-film (do/1), key o1/0/film, stop by 18:00:20 {"order":{"n":1}}
  due 12:01:20
12:00:50
    film Processing, attempt 1, at 20 % , locked by scheduler-1, complete by 14:00:50
  due 12:01:20
day 2 00:00:50
    film Pending, attempt 1, waits until day 2 00:00:50, complete by day 2 00:00:55
    attempt film/1 ended: overdue queue
  -> scheduler: wake film/1, at day 2 00:00:50
  due day 2 00:00:55
    film Processing, attempt 2, locked by scheduler-1, complete by day 2 00:02:10
  -> film-agent: do-film (do/2), key o1/0/film, stop by day 2 06:01:10 {"order":{"n":1}}
  due day 2 00:00:55
day 2 00:02:50
  Compensating, because of failure
    film UndoWait, attempt 2, 1 failed, complete by day 2 00:02:55
      error of attempt 2 at day 2 00:02:50, timeout: no reply by the complete-by time
    attempt film/2 ended: overdue timeout
  -> scheduler: wake film/2, now
  due day 2 00:02:55
