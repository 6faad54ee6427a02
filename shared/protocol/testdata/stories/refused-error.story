# P5. Every refusal names its command, and states the reason in words.
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

event resubmit x1 deadline=-1h
----
  resubmit x1 refused: the new deadline 2026-11-21T11:00:00.000Z has passed, it is 2026-11-21T12:00:00.000Z here; give a later one, or none
  attention 12:00:00

event undo x2 command=9
----
  undo x2 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00

event resolve x3 a happened command=9
----
  resolve x3 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00

event resolve x4 z happened
----
  resolve x4 refused: the order has no such step
  attention 12:00:00

event resubmit x5 command=99
----
  resubmit x5 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00
