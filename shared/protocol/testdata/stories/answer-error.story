# In Error a value makes the step Processed; a refusal leaves it Waiting, and the Resubmit applies it (P36).
step x stop
step approve answers=yes,no
step refused answers=yes,no refuse
step again answers=yes,no need=2
step b after=x

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    refused Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    again Waiting, attempt 1, round 1, needs 2, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 13:00:00
  -> scheduler: wake refused/1, at 13:00:00
  -> scheduler: wake again/1, at 13:00:00
  due 12:00:30

event failed x/1
----
  Error (forward)
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    approve Waiting, attempt 1, round 1, waits until 13:00:00
    refused Waiting, attempt 1, round 1, waits until 13:00:00
    again Waiting, attempt 1, round 1, needs 2, waits until 13:00:00
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       x Failed, attempt 1
       approve Waiting, attempt 1
       refused Waiting, attempt 1
       again Waiting, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer approve/1 yes by=ann
----
  answer a1 accepted: 
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
  attention 12:00:00

event answer refused/1 no by=ann
----
  answer a2 accepted: 
    refused Waiting, attempt 1, round 1, ann: "no", waits until 13:00:00
  attention 12:00:00

event answer refused/1 yes by=bob
----
  answer a3 refused: step refused was decided: "no" by ann
  attention 12:00:00

event answer again/1 yes by=ann
----
  answer a4 accepted: 
    again Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 13:00:00
  attention 12:00:00

event wake again/1
----
  ignored: a task in Error waits for the operator
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Compensating, because of failure
    x Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    approve Compensated, attempt 1, round 1, ann: "yes", decided "yes" by ann
    refused Compensated, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no"
    again Compensated, attempt 1, round 1, needs 2, ann: "yes"
  -> scheduler: wake again/1, at 13:00:00
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
