# P41, P49: what an undone child runs next is decided by its parent.
step a

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> parent/1: compensated refused the service refused
  reported
  at rest

to step a
to step c after=a
event move m1
----
  move m1 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
  at rest

to step a
to step c after=a
event resubmit m2
----
  resubmit m2 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
  at rest
