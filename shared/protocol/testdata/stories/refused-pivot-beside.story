# A step beside a refused point of no return is undone with the rest. While the order is being undone,
# that the point of no return happened cannot be stated: that would leave no way at all (P22a).
step withdraw
step deposit after=withdraw no-return=undo
step notice after=withdraw stop undo-failures=1

event submit
----
  Processing
    withdraw Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    deposit Pending
    notice Pending
  -> withdraw-agent: do-withdraw (do/1), key o1/0/withdraw, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done withdraw/1
----
    withdraw Processed, attempt 1
    deposit Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    notice Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> deposit-agent: do-deposit (do/1), key o1/0/deposit, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  -> notice-agent: do-notice (do/1), key o1/0/notice, stop by 12:00:30 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:30

event failed deposit/1 no-effect
----
  Compensating, because of failure
    deposit Failed, attempt 1, 1 failed, without effect
      error of attempt 1 at 12:00:00, refused: the service refused
    notice Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt deposit/1 ended: failed refused
    attempt notice/1 ended: superseded
  -> notice-agent: undo-notice (undo/2), key o1/0/notice, stop by 12:00:30 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:30

event undo-failed notice/2
----
  Error (undo), because of failure
    notice UndoWait, attempt 2, 1 undos failed
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt notice/2 ended: failed refused
  -> shop: failed, number 1, notice refused the service refused
       withdraw Processed, attempt 1
       deposit Failed, attempt 1
       notice UndoWait, attempt 2
  -> operator: undo of step "notice", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 32s
----
12:00:32

event resolve s1 deposit happened
----
  resolve s1 refused: the step is the point of no return, and the order is being undone because the step was proven to have had no effect; fix: reverse its effect at the service, then state undone
  attention 12:00:00

event resolve s2 deposit undone
----
  resolve s2 accepted: 
    deposit Compensated, attempt 1, 1 failed, without effect
  attention 12:00:00

event resolve s3 notice undone
----
  resolve s3 accepted: 
    notice Compensated, attempt 2, 1 undos failed
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of failure
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 12:01:02
    notice Compensated, attempt 2
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:01:02 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:01:02
