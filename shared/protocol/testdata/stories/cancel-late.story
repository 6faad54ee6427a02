# While it is undone the cancel is kept, and the end is Cancelled; after the end it is refused.
step a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Cancelled, because of failure
    a Compensated, attempt 2
  -> shop: cancelled, number 1, b refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest

event resubmit r1
----
  resubmit r1 refused: the order is Cancelled, which is final
  at rest

event cancel c2
----
  cancel c2 accepted: it was cancelled before
  at rest
