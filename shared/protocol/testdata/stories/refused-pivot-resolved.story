# The operator states what a proof has said already: the alert stays as it was reported (P12, P22a).
step withdraw
step deposit after=withdraw no-return=stop

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

event failed deposit/1 no-effect
----
  Error (forward)
    deposit Failed, attempt 1, 1 failed, without effect
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt deposit/1 ended: failed refused
  -> shop: failed, number 1, deposit refused the service refused
       withdraw Processed, attempt 1
       deposit Failed, attempt 1
  -> operator: forward of step "deposit", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 1h
----
13:00:00

event resolve r1 deposit not-happened
----
  resolve r1 accepted: 
  attention 12:00:00

event failed deposit/1 no-effect
----
  ignored: this is not asked for now: a duplicate, or overtaken
  attention 12:00:00

event undo u1 1
----
  undo u1 accepted: 
  Compensating, because of operator
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 13:00:30
    deposit Compensated, attempt 1, 1 failed, without effect
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 13:00:30 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 13:00:30
