# A reminder is not sent again once its service may have forgotten the key (P18, P37), also by a restart, and one that was missed
# has that time from when it was sent first.
step approve-ask no-undo kept=2m
step approve answers=yes,no ask=approve-ask after=approve-ask remind=1h timeout=5h

event submit
event done approve-ask/1
wait 1h
event wake approve/1
wait 1m
event wake approve/1
restart
wait 1m
event wake approve/1
restart
# The second one is sent half an hour late.
wait 88m
event wake approve/1
wait 1m
restart
wait 1m
restart
----
  Processing
    approve-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
  -> approve-ask-agent: do-approve-ask (do/1), key o1/0/approve-ask, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    approve-ask Processed, attempt 1
    approve Waiting, attempt 1, round 1, reminds by 13:00:00, waits until 17:00:00, complete by 17:00:00
  -> scheduler: wake approve/1, at 13:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
13:00:00
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 14:00:00, waits until 17:00:00, complete by 17:00:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 13:01:59 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  due 12:00:30
13:01:00
  ignored: its wait is not over
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 13:01:59 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  due 12:00:30
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 13:01:59 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
13:02:00
  ignored: its wait is not over
  -> scheduler: wake approve/1, at 14:00:00
  due 12:00:30
  -> scheduler: wake approve/1, at 14:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
14:30:00
    approve Waiting, attempt 1, round 1, reminded 2, reminds by 15:00:00, waits until 17:00:00, complete by 17:00:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.2, stop by 14:31:59 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 15:00:00
  due 12:00:30
14:31:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.2, stop by 14:31:59 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 15:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
14:32:00
  -> scheduler: wake approve/1, at 15:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
