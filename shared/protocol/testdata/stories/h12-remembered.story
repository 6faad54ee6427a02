# H12. Before that time the key is remembered: a call may land as late as its timeout.
step a kept=24h stop

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

wait 23h59m49s
event resubmit x
----
11:59:49
  resubmit x accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 11:59:59
  -> a-agent: do-a (do/2), key o1/0/a, stop by 11:59:59 {"order":{"n":1}}
  due 11:59:59
