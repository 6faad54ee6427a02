# Answers that come before their step is claimed are kept, and decide with its claim (P36). One of a person who may not answer is refused.
step a
step approve answers=yes,no need=2 not=eve after=a
step b after=approve

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer approve/1 yes by=ann
event answer approve/1 yes by=eve
event answer approve/1 yes by=ann
----
  answer a1 accepted: 
    approve Pending, round 1, ann: "yes"
  due 12:00:30
  answer a2 refused: eve is excluded from answering this step (notSelf)
  due 12:00:30
  answer a3 accepted: 
  due 12:00:30

event answer approve/1 no by=ann
----
  answer a4 refused: ann has answered step approve before, with "yes" at 2026-11-21T12:00:00.000Z
  due 12:00:30

event answer approve/2 yes by=bob
----
  answer a5 refused: step approve is in round 1, and the answer is for round 2; look at it again
  due 12:00:30

event answer approve/1 yes by=bob run=1
----
error: the message is ahead of the document

event done a/1
----
    a Processed, attempt 1
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30

event answer approve/1 no by=eve
----
  answer a7 refused: eve is excluded from answering this step (notSelf)
  due 12:00:30

event answer approve/1 yes by=bob
----
  answer a8 accepted: 
    approve Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"approve":{"value":"yes","by":"ann, bob","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30
