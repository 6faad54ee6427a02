# P17, P49: a Compensated order that is moved and then cancelled reports its new end with the steps that it has now. Broken
# by: the steps of the status "undone", which the Move keeps, stay.
step a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
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
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
       b Pending, attempt 0
  reported
  at rest

to step c
to step d
event move m
----
  move m accepted: 
    c Pending
    d Pending
  at rest

event cancel c1
----
  cancel c1 accepted: 
  Cancelled, because of failure
  -> shop: cancelled, number 2, a refused the service refused
       c Pending, attempt 0
       d Pending, attempt 0
  reported
  at rest
