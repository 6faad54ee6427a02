# P59: a reminder whose input cannot be computed is not sent, which the step says. Nothing else changes, and the next one is sent.
step a remind=1m/1m by=mail unsent=1 long=1h

event submit
wait 1m
event wake a/1
event wake a/1
wait 1m
event wake a/1
----
  Processing
    a Processing, attempt 1, reminds by 12:01:05, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 13:00:20 {"order":{"n":1}}
  -> scheduler: wake a/1, at 12:01:00
  due 12:00:30
12:01:00
    a Processing, attempt 1, reminded 1 (unsent: no such field), reminds by 12:02:05, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake a/1, at 12:02:00
  due 12:00:30
  ignored: the step is not in a state that waits
  -> scheduler: wake a/1, at 12:02:00
  due 12:00:30
12:02:00
    a Processing, attempt 1, reminded 2, reminds by 12:03:05, locked by scheduler-1, complete by 12:00:30
  -> mail: tell (do/0), key o1/0/a/1.2, stop by 12:03:00 {"reminder":2}
  -> scheduler: wake a/1, at 12:03:00
  due 12:00:30
