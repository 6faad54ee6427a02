# P41, P49: a child that had a point of no return before can get others, and so can an order without a parent.
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

to step a stop
to step b after=a no-return
to step c after=b
event move m
----
  move m accepted: 
    c Pending
  attention 12:00:00
