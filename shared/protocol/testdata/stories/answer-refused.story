# A refusal is the step's permanent failure; under stop, a Resubmit asks in the next round (P35).
step approve answers=yes,no refuse stop
step b after=approve

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> scheduler: wake approve/1, at 13:00:00
  due 13:00:00

event answer approve/1 no by=ann
----
  answer a1 accepted: 
  Error (forward)
    approve Failed, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no"
  -> shop: failed, number 1, approve answer-refused ann answered "no"
       approve Failed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "approve", answer-refused: ann answered "no" (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event answer approve/1 yes by=bob
----
  answer a2 refused: step approve was decided at 2026-11-21T12:00:00.000Z: "no" by ann
  attention 12:00:00

event answer approve/1 no by=bob
----
  answer a3 accepted: step approve was decided at 2026-11-21T12:00:00.000Z: "no" by ann
  attention 12:00:00

event resolve r1 approve happened
----
  resolve r1 refused: the step is answered from outside, so there is nothing in doubt; fix: resubmit the order, and it asks again if its round was decided
  attention 12:00:00

event resubmit r2
----
  resubmit r2 accepted: 
  Processing
    approve Waiting, attempt 2, round 2, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/2, at 13:00:00
  due 13:00:00

event answer approve/1 no by=ann
----
  answer a4 refused: step approve is in round 2, and the answer is for round 1; look at it again
  due 13:00:00

event answer approve/1 no by=ann id=a1
----
  ignored: this command already has a verdict
  answer a1 accepted: 
  due 13:00:00

event answer approve/2 yes by=ann
----
  answer a6 accepted: 
    approve Processed, attempt 2, round 2, ann: "yes", decided "yes" by ann
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"approve":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30
