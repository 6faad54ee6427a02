# P37, P49: a reminder that was sent is not sent again after a move, since the new definition may ask otherwise under the
# same key. The next one goes out with what the new definition says.
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

restart
----
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.1, stop by 14:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 14:00:00
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30

to step w-ask no-undo timeout=20s
to step w answers=yes,no after=w-ask ask=w-ask timeout=24h remind=1h
event move m
----
  move m accepted: 
  -> scheduler: wake w/1, at 14:00:00
  due 12:00:30

restart
----
  -> scheduler: wake w/1, at 14:00:00
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30

wait 61m
event wake w/1
----
14:01:00
    w Waiting, attempt 1, round 1, reminded 2, reminds by 15:00:00, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.2, stop by 15:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 15:00:00
  due 12:00:30

restart
----
  -> w-ask-agent: do-w-ask (do/0), key o1/0/w/1.2, stop by 15:00:00 {"order":{"n":1}}
  -> scheduler: wake w/1, at 15:00:00
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30
