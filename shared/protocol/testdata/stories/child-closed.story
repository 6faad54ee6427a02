# A child that is closed by hand is reported as such, whatever is asked of it later.
step a stop

event parent start 1 crash
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  the process dies before it has sent anything
  due 12:00:30

event parent start 1
----
  ignored: the child is Processing
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1 crash
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> parent/1: error refused the service refused
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:00:30

event close c1
----
  close c1 refused: a call of step a may still take effect; wait until 2026-11-21T12:00:31.001Z
  due 12:00:30

event settle
----
  ignored: sent again
  -> parent/1: error refused the service refused
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 32s
event close c2
----
12:00:32
  close c2 accepted: 
  Closed
  -> parent/1: closed refused the service refused
  reported
  at rest

event parent undo 2
----
  -> parent/2: closed refused the service refused
  at rest

event parent start 3
----
  -> parent/3: closed refused the service refused
  at rest
