# P59: while a step has not ended, its reminders are sent, whatever it does meanwhile. Their replies change nothing, and none follows the end.
step a remind=2m/1m/3 by=mail poll=1h
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, reminds by 12:02:05, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake a/1, at 12:02:00
  due 12:00:30

# The first one is sent while the step waits for its next attempt. A copy of the Wake sends the same bytes.
event not-yet a/1
wait 2m
event wake a/1
event wake a/1
----
    a Pending, attempt 1, reminds by 12:02:05, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647
12:02:00
    a Processing, attempt 2, reminded 1, reminds by 12:03:05, locked by scheduler-1, complete by 12:02:30
  -> mail: tell (do/0), key o1/0/a/1.1, stop by 12:03:00 {"reminder":1}
  -> scheduler: wake a/1, at 12:03:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:02:30 {"order":{"n":1}}
  -> scheduler: wake a/2, at 12:03:00
  due 12:00:07.647
  ignored: it belongs to an earlier attempt
  -> mail: tell (do/0), key o1/0/a/1.1, stop by 12:03:00 {"reminder":1}
  -> scheduler: wake a/2, at 12:03:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:02:30 {"order":{"n":1}}
  due 12:00:07.647

# Its reply carries the attempt 0.
event done a/0
event failed a/0
----
  ignored: no attempt has that number
  due 12:00:07.647
  ignored: no attempt has that number
  due 12:00:07.647

# The second one is sent while the step is in flight.
wait 1m
event wake a/2
event wake a/2
----
12:03:00
    a Processing, attempt 2, reminded 2, reminds by 12:04:05, locked by scheduler-1, complete by 12:02:30
  -> mail: tell (do/0), key o1/0/a/1.2, stop by 12:04:00 {"reminder":2}
  -> scheduler: wake a/2, at 12:04:00
  due 12:00:07.647
  ignored: the step is not in a state that waits
  -> mail: tell (do/0), key o1/0/a/1.2, stop by 12:04:00 {"reminder":2}
  -> scheduler: wake a/2, at 12:04:00
  due 12:00:07.647

# The Supervisor wakes the Scheduler if the Wake was lost. The last one is due once.
event not-yet a/2
wait 70s
sweep
event wake a/2
wait 10m
event done a/2
event wake a/2
----
    a Pending, attempt 2, reminded 2, reminds by 12:04:05, waits until 12:07:24.940, complete by 12:07:29.940
      error of attempt 2 at 12:03:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/2 ended: retry-later not-yet
  -> scheduler: wake a/2, at 12:07:24.940
  due 12:00:07.647
12:04:10
supervisor: Overdue{"Step":"a","Attempt":2,"Queue":0}
    a Pending, attempt 2, reminded 2, reminds by 12:04:15, waits until 12:07:24.940, complete by 12:07:29.940
  -> scheduler: wake a/2, now
  due 12:04:15
    a Pending, attempt 2, reminded 3, waits until 12:07:24.940, complete by 12:07:29.940
  -> mail: tell (do/0), key o1/0/a/1.3, stop by 13:04:10 {"reminder":3}
  due 12:04:15
12:14:10
    a Processed, attempt 2, reminded 3
      error of attempt 2 at 12:03:00, not-yet: no call was made
    b Processing, attempt 1, locked by scheduler-1, complete by 12:14:40
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:14:40 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:04:15
  ignored: the step is not in a state that waits
  due 12:04:15
