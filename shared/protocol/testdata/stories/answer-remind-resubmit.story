# The handling that decides on a reminder may die before it sends it, and its Wake may come again while the order is stopped. So a Resubmit
# sends the last reminder again, until the next one is due (P12, P37).
step approve-ask no-undo
step approve answers=yes,no ask=approve-ask after=approve-ask remind=1h timeout=5h
step b stop

event submit
event done approve-ask/1
wait 1h
event wake approve/1
event failed b/1
event wake approve/1
event settle
event resubmit 1 command=0
event resubmit 1 command=0
----
  Processing
    approve-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> approve-ask-agent: do-approve-ask (do/1), key o1/0/approve-ask, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    approve-ask Processed, attempt 1
    approve Waiting, attempt 1, round 1, reminds by 13:00:00, waits until 17:00:00, complete by 17:00:00
  -> scheduler: wake approve/1, at 13:00:00
  -> scheduler: wake approve/1, at 17:00:00
  due 12:00:30
13:00:00
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 14:00:00, waits until 17:00:00, complete by 17:00:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 14:00:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  due 12:00:30
  Error (forward)
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 14:00:00, waits until 17:00:00
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 13:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       approve-ask Processed, attempt 1
       approve Waiting, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve)
  reported
  attention 13:00:00
  ignored: a task in Error waits for the operator
  attention 13:00:00
  ignored: everything was reported before
  attention 13:00:00
  resubmit 1 accepted: 
  Processing
    approve Waiting, attempt 1, round 1, reminded 1, reminds by 14:00:00, waits until 17:00:00, complete by 17:00:00
    b Processing, attempt 2, locked by scheduler-1, complete by 13:00:30
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 14:00:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  -> scheduler: wake approve/1, at 17:00:00
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30 {"order":{"n":1}}
  due 13:00:30
  ignored: this command already has a verdict
  resubmit 1 accepted: 
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.1, stop by 14:00:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 14:00:00
  -> scheduler: wake approve/1, at 17:00:00
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30 {"order":{"n":1}}
  due 13:00:30
