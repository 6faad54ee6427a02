# A point of no return that times out is in doubt: the order stops, and nothing undoes it until the
# proof comes (P22a), by a late reply or from the operator.
step withdraw
step deposit after=withdraw no-return=undo failures=1

event submit
----
  Processing
    withdraw Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    deposit Pending
  -> withdraw-agent: do-withdraw (do/1), key o1/0/withdraw, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done withdraw/1
----
    withdraw Processed, attempt 1
    deposit Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> deposit-agent: do-deposit (do/1), key o1/0/deposit, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:30

wait 30s
----
12:00:30

sweep
----
supervisor: Overdue{"Step":"deposit","Attempt":1,"Queue":0}
  Error (forward)
    deposit Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt deposit/1 ended: overdue timeout
  -> scheduler: settle
  due 12:01:30

event settle crash
----
  ignored: sent again
  -> shop: failed, number 1, deposit timeout no reply by the complete-by time
       withdraw Processed, attempt 1
       deposit Failed, attempt 1
  -> operator: forward of step "deposit", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:01:30

event undo u1
----
  undo u1 refused: the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first
  due 12:01:30

# No proof: only that it failed.
event failed deposit/1 crash
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> shop: failed, number 1, deposit timeout no reply by the complete-by time
       withdraw Processed, attempt 1
       deposit Failed, attempt 1
  -> operator: forward of step "deposit", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:01:30

event failed deposit/1 no-effect
----
    deposit Failed, attempt 1, 1 failed, without effect
  due 12:01:30

# It comes twice, and is recorded once. The Error is reported again as it was.
event failed deposit/1 no-effect
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> shop: failed, number 1, deposit timeout no reply by the complete-by time
       withdraw Processed, attempt 1
       deposit Failed, attempt 1
  -> operator: forward of step "deposit", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:30

# A new claim takes the proof back.
event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    deposit Processing, attempt 2, locked by scheduler-1, complete by 12:01:00
  -> deposit-agent: do-deposit (do/2), key o1/0/deposit, stop by 12:01:00, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:01:00

event undo u2
----
  undo u2 refused: only an order in Error can be undone; this one is Processing
  due 12:01:00

wait 30s
----
12:01:00

sweep
----
supervisor: Overdue{"Step":"deposit","Attempt":2,"Queue":0}
  Error (forward)
    deposit Failed, attempt 2, 1 failed
      error of attempt 2 at 12:01:00, timeout: no reply by the complete-by time
    attempt deposit/2 ended: overdue timeout
  -> scheduler: settle
  due 12:02:00

event settle
----
  ignored: sent again
  -> shop: failed, number 2, deposit timeout no reply by the complete-by time
       withdraw Processed, attempt 1
       deposit Failed, attempt 2
  -> operator: forward of step "deposit", timeout: no reply by the complete-by time (answer to command 3; resubmit; resolve from 12:01:01.001)
  reported
  attention 12:01:00

wait 2s
----
12:01:02

event resolve s1 deposit not-happened
----
  resolve s1 accepted: 
    deposit Failed, attempt 2, 1 failed, without effect
  attention 12:01:00

event undo u3
----
  undo u3 accepted: 
  Compensating, because of operator
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 12:01:32
    deposit Compensated, attempt 2, 1 failed, without effect
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:01:32 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:01:32

event undone withdraw/2
----
  Compensated, because of operator
    withdraw Compensated, attempt 2
  -> shop: undone, number 3, deposit timeout no reply by the complete-by time
       withdraw Compensated, attempt 2
       deposit Compensated, attempt 2
  reported
  at rest
