# Nor does one that an operator has undone.
workflow alert-undone
step a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event undo u
----
  undo u accepted: 
  Compensating, because of operator
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of operator
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 2, a refused the service refused
       a Compensated, attempt 2
  reported
  at rest
