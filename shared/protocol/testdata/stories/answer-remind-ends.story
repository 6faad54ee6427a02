# After the decision, in Error and in the undo nothing is sent; Resubmit reminds of what was missed (P37).
step approve-ask no-undo
step approve answers=yes,no ask=approve-ask after=approve-ask remind=1h timeout=2d need=2
step other failures=1 stop

event submit
event done approve-ask/1
wait 1h
sweep
event wake approve/1
event answer approve/1 yes by=ann
event failed other/1
wait 90m
sweep
event wake approve/1
event resubmit r1
event wake approve/1
event answer approve/1 yes by=bob
wait 1h
event wake approve/1
event cancel
----
  Processing
    approve-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    other Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> approve-ask-agent: do-approve-ask (do/1), key o1/0/approve-ask, stop by 12:00:30 {"order":{"n":1}}
  -> other-agent: do-other (do/1), key o1/0/other, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    approve-ask Processed, attempt 1
    approve Waiting, attempt 1, round 1, needs 2, reminds by 13:00:00, waits until day 2 12:00:00, complete by day 2 12:00:00
  -> scheduler: wake approve/1, at 13:00:00
  -> scheduler: wake approve/1, at day 2 12:00:00
  due 12:00:30
13:00:00
supervisor: Overdue{"Step":"approve","Attempt":1,"Queue":0}
    approve Waiting, attempt 1, round 1, needs 2, reminds by 13:00:05, waits until day 2 12:00:00, complete by day 2 12:00:00
  -> scheduler: wake approve/1, now
supervisor: Overdue{"Step":"other","Attempt":1,"Queue":0}
  Error (forward)
    approve Waiting, attempt 1, round 1, needs 2, reminds by 13:00:05, waits until day 2 12:00:00
    other Failed, attempt 1, 1 failed
      error of attempt 1 at 13:00:00, timeout: no reply by the complete-by time
    attempt other/1 ended: overdue timeout
  -> scheduler: settle
  due 13:01:00
  ignored: a task in Error waits for the operator
  -> shop: failed, number 1, other timeout no reply by the complete-by time
       approve-ask Processed, attempt 1
       approve Waiting, attempt 1
       other Failed, attempt 1
  -> operator: forward of step "other", timeout: no reply by the complete-by time (answer to command 0; resubmit; undo; resolve)
  reported
  attention 13:00:00
  answer a1 accepted: 
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", reminds by 13:00:05, waits until day 2 12:00:00
  attention 13:00:00
  ignored: this is not asked for now: a duplicate, or overtaken
  attention 13:00:00
14:30:00
nothing is overdue; due pushed: false
  attention 13:00:00
  ignored: a task in Error waits for the operator
  attention 13:00:00
  resubmit r1 accepted: 
  Processing
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", reminds by 14:30:05, waits until day 2 12:00:00, complete by day 2 12:00:00
    other Processing, attempt 2, locked by scheduler-1, complete by 14:30:30
  -> scheduler: wake approve/1, at 13:00:00
  -> scheduler: wake approve/1, at day 2 12:00:00
  -> other-agent: do-other (do/2), key o1/0/other, stop by 14:30:30 {"order":{"n":1}}
  due 14:30:05
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", reminded 2, reminds by 15:00:00, waits until day 2 12:00:00, complete by day 2 12:00:00
  -> approve-ask-agent: do-approve-ask (do/0), key o1/0/approve/1.2, stop by 15:00:00 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 15:00:00
  due 14:30:05
  answer a2 accepted: 
    approve Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob, reminded 2
  due 14:30:05
15:30:00
  ignored: the step is not in a state that waits
  due 14:30:05
  cancel  accepted: 
  Compensating, because of cancel
    approve Compensated, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob, reminded 2
    other Compensating, attempt 3, locked by scheduler-1, complete by 15:30:30
    attempt other/2 ended: superseded
  -> other-agent: undo-other (undo/3), key o1/0/other, stop by 15:30:30 {"order":{"n":1}}
  due 14:30:05
