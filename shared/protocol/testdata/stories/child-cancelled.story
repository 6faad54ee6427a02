# What is cancelled before it came has done nothing, and a later attempt starts it.
step a

event parent cancel 1
----
  Compensated, because of parent
    a Pending
  -> parent/1: compensated 
  reported
  at rest

event parent start 1
----
  ignored: the child is Compensated
  -> parent/1: compensated 
  at rest

event parent start 2
----
  Processing, run 1
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event parent undo 3
----
  Compensating, because of parent, run 1
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
