# P59: of missed reminders only the newest is sent. A restart sends it again until its stop-by, which is when the next one is due, or an hour later.
step a remind=10m/3h by=mail poll=31h queue=1h

event submit
event not-yet a/1
----
  Processing
    a Processing, attempt 1, reminds by 12:10:05, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake a/1, at 12:10:00
  due 12:00:30
    a Pending, attempt 1, reminds by 12:10:05, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647

wait 7h
sweep
event wake a/1
wait 50m
restart
wait 10m
restart
----
19:00:00
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, reminds by 19:00:05, waits until 12:00:02.647, complete by 19:00:05
  -> scheduler: wake a/1, now
  due 19:00:05
    a Processing, attempt 2, reminded 3, reminds by 21:10:00, locked by scheduler-1, complete by 19:00:30
  -> mail: tell (do/0), key o1/0/a/1.3, stop by 20:00:00 {"reminder":3}
  -> scheduler: wake a/1, at 21:10:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 19:00:30 {"order":{"n":1}}
  -> scheduler: wake a/2, at 21:10:00
  due 19:00:05
19:50:00
  -> mail: tell (do/0), key o1/0/a/1.3, stop by 20:00:00 {"reminder":3}
  -> scheduler: wake a/2, at 21:10:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 19:00:30 {"order":{"n":1}}
  due 19:00:05
20:00:00
  -> scheduler: wake a/2, at 21:10:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 19:00:30 {"order":{"n":1}}
  due 19:00:05
