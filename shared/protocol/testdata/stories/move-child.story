# P41, P49: a child in Error is moved by its own command, but not past the first point of no return, because its parent
# relies on that it can be undone.
step a stop
step b after=a

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

to step a stop
to step b after=a no-return
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step b: it is a point of no return, and the definition of the order has none: step each of p could not undo this child any more
  attention 12:00:00

to step a stop
to step b after=a no-return
event resubmit m2
----
  resubmit m2 refused: the order cannot go on with the new definition: step b: it is a point of no return, and the definition of the order has none: step each of p could not undo this child any more
  attention 12:00:00

to step a stop
to step b after=a
to step c after=b
event move m3
----
  move m3 accepted: 
    c Pending
  attention 12:00:00

to step a stop
to step b after=a
event resubmit m4
----
  resubmit m4 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
