# H17. Old undo does not hit the new run. Broken by: seen accepts any number.
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

event undo u1
----
  undo u1 accepted: 
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

event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/3
----
  Error (forward), run 1
    a Failed, attempt 3, 1 failed
      error of attempt 3 at 12:00:00, refused: the service refused
    attempt a/3 ended: failed refused
  -> shop: failed, number 3, a refused the service refused
       a Failed, attempt 3
  -> operator: forward of step "a", refused: the service refused (answer to command 2; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event undo u1 command=0
----
  ignored: this command already has a verdict
  undo u1 accepted: 
  attention 12:00:00

event undo u2 command=0
----
  undo u2 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00
