# A refusal under undo: what came before it is undone, the step itself has nothing to undo.
step a
step approve answers=yes,no refuse after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30

event answer approve/1 no by=ann
----
  answer a1 accepted: 
  Compensating, because of failure
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    approve Compensated, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no"
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event answer approve/1 yes by=bob
----
  answer a2 refused: the order no longer goes forward; it is Compensating; step approve was decided at 2026-11-21T12:00:00.000Z: "no" by ann
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, approve answer-refused ann answered "no"
       a Compensated, attempt 2
       approve Compensated, attempt 1
  reported
  at rest

event answer approve/1 yes by=bob
----
  answer a3 refused: the order no longer goes forward; it is Compensated; step approve was decided at 2026-11-21T12:00:00.000Z: "no" by ann
  at rest

# The next run asks anew, and still knows what it said to whom (P36).
event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    approve Pending, attempt 1, round 1
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/3
----
    a Processed, attempt 3
    approve Waiting, attempt 2, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/2, at 13:00:00
  due 12:00:30

event answer approve/1 yes by=bob id=a2
----
  ignored: this command already has a verdict
  answer a2 refused: the order no longer goes forward; it is Compensating; step approve was decided at 2026-11-21T12:00:00.000Z: "no" by ann
  due 12:00:30

event answer approve/1 yes by=bob run=0
----
  answer a5 refused: the order is in run 1, and the answer is for run 0; look at it again
  due 12:00:30

event answer approve/1 yes by=bob
----
  answer a6 accepted: 
  Processed, run 1
    approve Processed, attempt 2, round 1, bob: "yes", decided "yes" by bob
  -> shop: completed, number 2, 
       a Processed, attempt 3
       approve Processed, attempt 2
  reported
  at rest
