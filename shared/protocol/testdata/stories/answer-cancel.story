# A cancelled order asks no more, and what is in the mail is refused.
step a
step approve answers=yes,no after=a

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

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    approve Compensated, attempt 1, round 1
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event answer approve/1 yes by=ann
----
  answer a1 refused: the order no longer goes forward; it is Compensating
  due 12:00:30

event wake approve/1
----
  ignored: the step is not in a state that waits
  due 12:00:30

event undone a/2
----
  Cancelled, because of cancel
    a Compensated, attempt 2
  -> shop: cancelled, number 1, 
       a Compensated, attempt 2
       approve Compensated, attempt 1
  reported
  at rest
