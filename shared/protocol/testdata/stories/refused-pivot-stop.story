# A point of no return that stops for the operator when it is refused: Undo and Cancel are accepted at
# once, because it is proven that it has had no effect (P22a).
step withdraw
step deposit after=withdraw no-return

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

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    deposit Compensated, attempt 1, 1 failed, without effect
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:00:30 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:30

event undone withdraw/2
----
  Cancelled, because of cancel
    withdraw Compensated, attempt 2
  -> shop: cancelled, number 2, deposit refused the service refused
       withdraw Compensated, attempt 2
       deposit Compensated, attempt 1
  reported
  at rest
