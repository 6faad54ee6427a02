# A refused answer opens the next round, in the same time, until the attempts are used. A Resubmit gives all of them again.
step approve answers=yes,no refuse stop attempts=2 need=2 remind=20m by=mail
step b after=approve

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, needs 2, reminds by 12:20:00, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> scheduler: wake approve/1, at 12:20:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:20:00

event answer approve/1 no by=ann
----
  answer a1 accepted: 
    approve Waiting, attempt 1, round 1, needs 2, ann: "no", reminds by 12:20:00, waits until 13:00:00, complete by 13:00:00
  due 12:20:00

wait 10m
event answer approve/1 no by=bob
----
12:10:00
  answer a2 accepted: 
    approve Waiting, attempt 1, round 2, needs 2, reminds by 12:20:00, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:10:00, answer-refused: ann, bob answered "no", attempt 1 of 2
  due 12:20:00

event answer approve/1 yes by=cleo
----
  answer a3 refused: step approve is in round 2, and the answer is for round 1; look at it again
  due 12:20:00

event answer approve/1 no by=bob id=a2
----
  ignored: this command already has a verdict
  answer a2 accepted: 
  due 12:20:00

wait 10m
event wake approve/1
----
12:20:00
    approve Waiting, attempt 1, round 2, needs 2, reminded 1, waits until 13:00:00, complete by 13:00:00
  -> mail: tell (do/0), key o1/0/approve/1.1, stop by 13:20:00 {"reminder":1}
  due 12:20:00

event answer approve/2 no by=ann
----
  answer a5 accepted: 
    approve Waiting, attempt 1, round 2, needs 2, ann: "no", reminded 1, waits until 13:00:00, complete by 13:00:00
  due 12:20:00

event answer approve/2 no by=bob
----
  answer a6 accepted: 
  Error (forward)
    approve Failed, attempt 1, round 2, needs 2, ann: "no", bob: "no", decided "no" by ann, bob, reminded 1
      error of attempt 1 at 12:20:00, answer-refused: ann, bob answered "no", attempt 2 of 2
  -> shop: failed, number 1, approve answer-refused ann, bob answered "no", attempt 2 of 2
       approve Failed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "approve", answer-refused: ann, bob answered "no", attempt 2 of 2 (answer to command 0; resubmit; undo)
  reported
  attention 12:20:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    approve Waiting, attempt 2, round 3, needs 2, reminds by 12:40:00, waits until 13:20:00, complete by 13:20:00
  -> scheduler: wake approve/2, at 12:40:00
  -> scheduler: wake approve/2, at 13:20:00
  due 12:40:00

event answer approve/3 no by=ann
----
  answer a7 accepted: 
    approve Waiting, attempt 2, round 3, needs 2, ann: "no", reminds by 12:40:00, waits until 13:20:00, complete by 13:20:00
  due 12:40:00

event answer approve/3 no by=bob
----
  answer a8 accepted: 
    approve Waiting, attempt 2, round 4, needs 2, reminds by 12:40:00, waits until 13:20:00, complete by 13:20:00
      error of attempt 2 at 12:20:00, answer-refused: ann, bob answered "no", attempt 1 of 2
  due 12:40:00

event answer approve/4 yes by=ann
----
  answer a9 accepted: 
    approve Waiting, attempt 2, round 4, needs 2, ann: "yes", reminds by 12:40:00, waits until 13:20:00, complete by 13:20:00
  due 12:40:00

event answer approve/4 yes by=bob
----
  answer a10 accepted: 
    approve Processed, attempt 2, round 4, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob
    b Processing, attempt 1, locked by scheduler-1, complete by 12:20:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:20:30 {"order":{"n":1},"seen":{"approve":{"value":"yes","by":"ann, bob","at":"2026-11-21T12:20:00.000Z"}}}
  due 12:20:30
