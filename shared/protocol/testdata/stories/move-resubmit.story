# P49, P18: Resubmit with a definition is refused as a whole.
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

wait 1m
to step a stop kept=1s
event resubmit m
----
12:01:00
  resubmit m refused: step a is in doubt and its service may have forgotten the key by the time a call lands (keyRetention); find out at the service whether it happened, and resolve it first
  attention 12:00:00
