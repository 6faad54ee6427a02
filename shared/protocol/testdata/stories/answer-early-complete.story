# What is complete at the claim decides at once, before the requests of the same decision (P36).
step a
step approve answers=yes,no refuse after=a
step c after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer approve/1 no by=ann
----
  answer a1 accepted: 
    approve Pending, round 1, ann: "no"
  due 12:00:30

event done a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    approve Compensated, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no"
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30
