# P37, P49: after a move reminders are sent at the interval of the new definition from the move on, under numbers that no
# reminder had, and neither Supervisor nor Scheduler looks at the question at times that only the old one had: here
# much less often.
step w-ask no-undo
step w answers=yes,no after=w-ask ask=w-ask timeout=24h remind=1h

event submit
----
  Processing
    w-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
  -> w-ask-agent: do-w-ask (do/1), key o1/0/w-ask, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done w-ask/1
----
    w-ask Processed, attempt 1
    w Waiting, attempt 1, round 1, reminds by 13:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> scheduler: wake w/1, at 13:00:00
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30

wait 1h
event wake w/1
----
13:00:00
    w Waiting, attempt 1, round 1, reminded 1, reminds by 14:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.1, stop by 14:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 14:00:00
  due 12:00:30

wait 1h
event wake w/1
----
14:00:00
    w Waiting, attempt 1, round 1, reminded 2, reminds by 15:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.2, stop by 15:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 15:00:00
  due 12:00:30

wait 1h
event wake w/1
----
15:00:00
    w Waiting, attempt 1, round 1, reminded 3, reminds by 16:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.3, stop by 16:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 16:00:00
  due 12:00:30

to step w-ask no-undo
to step w answers=yes,no after=w-ask ask=w-ask timeout=24h remind=20h
event move m
----
  move m accepted: 
    w Waiting, attempt 1, round 1, reminded 3, reminds by 08:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> scheduler: wake w/1, at 08:00:00
  due 12:00:30

wait 17h
event wake w/1
----
08:00:00
    w Waiting, attempt 1, round 1, reminded 4, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.4, stop by 09:00:00 {"order":{"n":1}}
  due 12:00:30
