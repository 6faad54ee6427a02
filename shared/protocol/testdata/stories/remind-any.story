# P59: an Any and its members have reminders of their own, which end with its decision.
step s-a remind=1m/1m by=mail poll=1h grade=idempotent
step s-b answers=yes,no remind=2m/2m by=mail timeout=1h
step s any=a,b remind=90s/1h by=post
step c after=s

event submit
event not-yet s-a/1
wait 2m
sweep
event wake s/1
event wake s-a/1
event wake s-b/1
event answer s-b/1 yes
wait 1m
event wake s-a/2
event wake s/1
----
  Processing
    s-a Processing, attempt 1, reminds by 12:01:05, locked by scheduler-1, complete by 12:00:30
    s-b Waiting, attempt 1, round 1, reminds by 12:02:05, waits until 13:00:00, complete by 13:00:00
    s Waiting, attempt 1, reminds by 12:01:35
    c Pending
  -> scheduler: wake s/1, at 12:01:30
  -> s-a-agent: do-s-a (do/1), key o1/0/s-a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake s-a/1, at 12:01:00
  -> scheduler: wake s-b/1, at 12:02:00
  -> scheduler: wake s-b/1, at 13:00:00
  due 12:00:30
    s-a Pending, attempt 1, reminds by 12:01:05, waits until 12:00:02.517, complete by 12:00:07.517
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt s-a/1 ended: retry-later not-yet
  -> scheduler: wake s-a/1, at 12:00:02.517
  due 12:00:07.517
12:02:00
supervisor: Overdue{"Step":"s-a","Attempt":1,"Queue":0}
    s-a Pending, attempt 1, reminds by 12:02:05, waits until 12:00:02.517, complete by 12:02:05
  -> scheduler: wake s-a/1, now
supervisor: Overdue{"Step":"s","Attempt":1,"Queue":0}
    s Waiting, attempt 1, reminds by 12:02:05
  -> scheduler: wake s/1, now
  due 12:02:05
    s-a Processing, attempt 2, reminds by 12:02:05, locked by scheduler-1, complete by 12:02:30
    s Waiting, attempt 1, reminded 1, reminds by 13:01:30
  -> post: tell (do/0), key o1/0/s/1.1, stop by 13:01:30 {"reminder":1}
  -> scheduler: wake s/1, at 13:01:30
  -> s-a-agent: do-s-a (do/2), key o1/0/s-a, stop by 12:02:30 {"order":{"n":1}}
  -> scheduler: wake s-a/2, at 12:01:00
  due 12:02:05
  ignored: it belongs to an earlier attempt
  -> scheduler: wake s-a/2, at 12:01:00
  due 12:02:05
    s-b Waiting, attempt 1, round 1, reminded 1, reminds by 12:04:05, waits until 13:00:00, complete by 13:00:00
  -> mail: tell (do/0), key o1/0/s-b/1.1, stop by 12:04:00 {"reminder":1}
  -> scheduler: wake s-b/1, at 12:04:00
  due 12:02:05
  answer a1 accepted: 
    s-a Processing, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:02:30
    s-b Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann, reminded 1
    s Settling, attempt 1, won: b, reminded 1
    c Processing, attempt 1, locked by scheduler-1, complete by 12:02:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:02:30 {"order":{"n":1},"seen":{"s":{"value":"yes","by":"ann","at":"2026-11-21T12:02:00.000Z"},"s-b":{"value":"yes","by":"ann","at":"2026-11-21T12:02:00.000Z"}}}
  due 12:02:05
12:03:00
  ignored: the order waits for something else
  due 12:02:05
  ignored: the order waits for something else
  -> s-a-agent: do-s-a (do/2), key o1/0/s-a, stop by 12:02:30 {"order":{"n":1}}
  due 12:02:05
