# A child notifies its parent, and takes commands of the operator in Error only (P41).
step a stop

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event parent start 1
----
  ignored: the child is Processing
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event parent undo 7 step=other
----
  ignored: the order is the child of another step
  due 12:00:30

event cancel c1
----
  cancel c1 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
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

event undo c2
----
  undo c2 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
  attention 12:00:00

event resubmit c3
----
  resubmit c3 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/2
----
  Processed
    a Processed, attempt 2
  -> parent/1: processed 
  reported
  at rest

event parent start 1
----
  ignored: the child is Processed
  -> parent/1: processed 
  at rest

event parent cancel 2
----
  -> parent/2: processed 
  at rest

event parent cancel 2
----
  ignored: the child is Processed
  -> parent/2: processed 
  at rest

event parent start 1
----
  ignored: a later attempt of its parent has asked
  -> parent/2: processed 
  at rest

event parent undo 3
----
  Compensating, because of parent
    a Compensating, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/3
----
  Compensated, because of parent
    a Compensated, attempt 3
  -> parent/3: compensated 
  reported
  at rest

event resubmit c4
----
  resubmit c4 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
  at rest

event parent start 3
----
  ignored: the child is Compensated
  -> parent/3: compensated 
  at rest

event parent start 4
----
  Processing, run 1
    a Processing, attempt 4, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/4), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
