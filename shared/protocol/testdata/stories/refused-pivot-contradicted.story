# The operator said that a point of no return had not happened, and its late "done" says that it has: from
# then on it is passed again (P22a).
workflow deadline=35s on-deadline=stop
step withdraw
step deposit after=withdraw no-return=undo failures=2

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
    deposit Pending, attempt 1, 1 failed, waits until 12:00:31, complete by 12:00:36
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt deposit/1 ended: overdue timeout
  -> scheduler: wake deposit/1, at 12:00:31
  due 12:00:35

wait 5s
----
12:00:35

sweep
----
supervisor: DeadlinePassed{"Run":0}
  Error (forward)
    deposit Pending, attempt 1, 1 failed
  -> scheduler: settle
  due 12:01:35

event settle
----
  ignored: sent again
  -> shop: failed, number 1, deadline the deadline of the order has passed
       withdraw Processed, attempt 1
       deposit Pending, attempt 1
  -> operator: forward of step "", deadline: the deadline of the order has passed (answer to command 0; resubmit)
  reported
  attention 12:00:35

event resolve s1 deposit not-happened
----
  resolve s1 accepted: 
    deposit Pending, attempt 1, 1 failed, without effect
  attention 12:00:35

event done deposit/1
----
    deposit Processed, attempt 1, 1 failed
  attention 12:00:35

event undo u1
----
  undo u1 refused: the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first
  attention 12:00:35
