# The deadline stops the order while an undo alone waits: Resubmit resumes it.
workflow deadline=20s on-deadline=stop
step fedex grade=idempotent continue
step dhl after=fedex when-failed=fedex

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event failed fedex/1
----
    fedex UndoWait, attempt 1, 1 failed, failed for good: refused, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> scheduler: wake fedex/1, at 12:00:31.001
  due 12:00:20

wait 21s
sweep
----
12:00:21
supervisor: DeadlinePassed{"Run":0}
  Error (forward)
    fedex UndoWait, attempt 1, 1 failed, failed for good: refused
  -> scheduler: settle
  due 12:01:21

event wake fedex/1
----
  ignored: a task in Error waits for the operator
  -> shop: failed, number 1, deadline the deadline of the order has passed
       fedex UndoWait, attempt 1
       dhl Pending, attempt 0
  -> operator: forward of step "", deadline: the deadline of the order has passed (answer to command 0; resubmit; undo)
  reported
  attention 12:00:21

event resubmit r1 deadline=1h
----
  resubmit r1 accepted: 
  Processing
    fedex UndoWait, attempt 1, failed for good: refused, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake fedex/1, at 12:00:31.001
  due 12:00:36.001

wait 20s
event wake fedex/1
----
12:00:41
    fedex Compensating, attempt 2, failed for good: refused, locked by scheduler-1, complete by 12:01:11
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:01:11 {"order":{"n":1}}
  due 12:00:36.001

event undone fedex/2
----
    fedex Compensated, attempt 2, failed for good: refused
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:01:11
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:01:11 {"order":{"n":1}}
  due 12:00:36.001
