# From the claim of the point of no return there is no way back, only forward or stop (P17, H9).
step a
step confirm after=a no-return failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    confirm Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    confirm Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> confirm-agent: do-confirm (do/1), key o1/0/confirm, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event cancel c1
----
  cancel c1 refused: the order is past its point of no return
  due 12:00:30

wait 30s
sweep
----
12:00:30
supervisor: Overdue{"Step":"confirm","Attempt":1,"Queue":0}
  Error (forward)
    confirm Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt confirm/1 ended: overdue timeout
  -> scheduler: settle
  due 12:01:30

event settle
----
  ignored: sent again
  -> shop: failed, number 1, confirm timeout no reply by the complete-by time
       a Processed, attempt 1
       confirm Failed, attempt 1
  -> operator: forward of step "confirm", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:30

event undo u1
----
  undo u1 refused: the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first
  attention 12:00:30

event cancel c2
----
  cancel c2 refused: the order is past its point of no return
  attention 12:00:30

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    confirm Processing, attempt 2, locked by scheduler-1, complete by 12:01:00
  -> confirm-agent: do-confirm (do/2), key o1/0/confirm, stop by 12:01:00, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:01:00

event done confirm/2
----
  Processed
    confirm Processed, attempt 2
  -> shop: completed, number 2, 
       a Processed, attempt 1
       confirm Processed, attempt 2
  reported
  at rest
