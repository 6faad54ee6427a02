# P18. An operator can state a fact only for a step in doubt. Broken by: unresolvable does not look at the step's
# state.
step a
step b after=a stop
step c

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       c Processing, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

wait 1h
event resolve x-a a not-happened
----
13:00:00
  resolve x-a refused: the step is Processed; only one that is Failed, UndoWait, or handed back is in doubt
  due 12:00:30

event resolve x-c c not-happened
----
  resolve x-c refused: the step is Processing; only one that is Failed, UndoWait, or handed back is in doubt
  due 12:00:30

event resolve x-missing missing not-happened
----
  resolve x-missing refused: the order has no such step
  due 12:00:30

event resolve x-b b not-happened
----
  resolve x-b accepted: 
    b Failed, attempt 1, 1 failed, without effect
  due 12:00:30
