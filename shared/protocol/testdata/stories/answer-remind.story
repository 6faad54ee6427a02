# A question that is not answered is asked again, each time under a key of its own; the replies change nothing (P37).
step approve-ask no-undo
step approve answers=yes,no ask=approve-ask after=approve-ask remind=5m timeout=17m
step c after=approve

event submit
event done approve-ask/1
wait 5m
event wake approve/1
event done approve-ask/1
event failed approve-ask/1
# Another Wake, and one that comes early, remind of nothing.
event wake approve/1
# Of missed ones only the newest is sent.
wait 11m
sweep
event wake approve/1
restart
wait 1m
event wake approve/1
----
  Processing
    approve-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    c Pending
  -> approve-ask-agent: do-approve-ask (do/1), key o1/0/approve-ask, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    approve-ask Processed, attempt 1
    approve Waiting, attempt 1, round 1, reminds by 12:05:05, waits until 12:17:00, complete by 12:17:00
  -> scheduler: wake approve/1, at 12:05:00
  -> scheduler: wake approve/1, at 12:17:00
  due 12:00:30
12:05:00
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 12:10:05, waits until 12:17:00, complete by 12:17:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 12:10:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 12:10:00
  due 12:00:30
  ignored: this is not asked for now: a duplicate, or overtaken
  -> scheduler: wake approve/1, at 12:17:00
  due 12:00:30
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30
  ignored: its wait is not over
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 12:10:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 12:10:00
  due 12:00:30
12:16:00
supervisor: Overdue{"Step":"approve","Attempt":1,"Queue":0}
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 12:16:05, waits until 12:17:00, complete by 12:17:00
  -> scheduler: wake approve/1, now
  due 12:16:05
    approve Waiting, attempt 1, round 1, reminded 3, waits until 12:17:00, complete by 12:17:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.3, stop by 12:20:00 {"order":{"n":1}}
  due 12:16:05
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.3, stop by 12:20:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 12:17:00
  due 12:16:05
12:17:00
  Compensated, because of failure
    approve-ask Compensated, attempt 1
    approve Compensated, attempt 1, round 1, decided null by timeout, reminded 3
      error of attempt 1 at 12:17:00, answer-timeout: no answer came in time
  -> shop: undone, number 1, approve answer-timeout no answer came in time
       approve-ask Compensated, attempt 1
       approve Compensated, attempt 1
       c Pending, attempt 0
  reported
  at rest
