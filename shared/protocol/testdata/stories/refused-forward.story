# P5. Every refusal names its command, and states the reason in words.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo x1
----
  undo x1 refused: only an order in Error can be undone; this one is Processing
  due 12:00:30

event resolve x2 a happened
----
  resolve x2 refused: only an order in Error takes a fact; this one is Processing
  due 12:00:30

event resubmit x3
----
  resubmit x3 refused: the order is Processing; only one in Error, or Compensated, can be resubmitted
  due 12:00:30
