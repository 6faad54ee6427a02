# Two steps at once: the second is still in flight when the first stops the order, and while it is being undone.
step a grade=idempotent stop
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0)
  told
  due 12:00:30

event close c1
----
  close c1 refused: an agent may still be at work on step a; wait until 2026-11-21T12:00:31.000Z
  due 12:00:30

event later b/1
----
    b Failed, attempt 1
  attention 12:00:00

wait 5m
event undo u1
----
12:05:00
  undo u1 accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:05:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:05:30 {"order":{"n":1}}
  due 12:05:30

event undo-failed b/2
----
    b UndoWait, attempt 2, 1 undos failed, waits until 12:05:02, complete by 12:05:07
  -> scheduler: wake b/2, at 12:05:02
  due 12:05:07

event close c2
----
  close c2 refused: only a task in Error can be closed; this one is Compensating
  due 12:05:07

wait 5m
event close c3
----
12:10:00
  close c3 refused: only a task in Error can be closed; this one is Compensating
  due 12:05:07
