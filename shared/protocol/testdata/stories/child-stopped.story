# A child in Error is undone with its parent; past its point of no return it is not.
step a stop
step b after=a no-return

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> parent/1: error refused the service refused
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event parent undo 2
----
  Compensating, because of parent
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of parent
    a Compensated, attempt 2, 1 failed
  -> parent/2: compensated refused the service refused
  reported
  at rest

event parent start 3
----
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/3
----
    a Processed, attempt 3
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/1/b, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event parent cancel 4
----
  due 12:00:30
