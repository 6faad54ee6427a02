# A refusal that came in Error undoes the order at the Resubmit; the steps after it are not looked at any more (P36).
step approve answers=yes,no refuse
step x grade=idempotent stop

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake approve/1, at 13:00:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    approve Waiting, attempt 1, round 1, waits until 13:00:00
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       approve Waiting, attempt 1
       x Failed, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer approve/1 no by=ann
----
  answer a1 accepted: 
    approve Waiting, attempt 1, round 1, ann: "no", waits until 13:00:00
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of failure
    approve Failed, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no"
    x UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake x/1, at 12:00:31.001
  due 12:00:36.001
