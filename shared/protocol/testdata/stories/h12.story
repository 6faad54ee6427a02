# H12. Forgotten key is not asked again. Broken by: resubmitted does not ask forgotten, or a fact frees a step for
# ever.
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
wait 1ms
event resubmit r1
----
11:59:49
11:59:49.001
  resubmit r1 refused: step a is in doubt and its service may have forgotten the key by the time a call lands (keyRetention); find out at the service whether it happened, and resolve it first
  attention 12:00:00

event resolve r2 a not-happened
----
  resolve r2 accepted: 
    a Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event resubmit r3
----
  resubmit r3 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by day 1 12:00:19.001
  -> a-agent: do-a (do/2), key o1/0/a, stop by day 1 12:00:19.001, resolved: not-happened {"order":{"n":1}}
  due day 1 12:00:19.001

event failed a/2
----
  Error (forward)
    a Failed, attempt 2, 1 failed
      error of attempt 2 at 11:59:49.001, refused: the service refused
    attempt a/2 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a Failed, attempt 2
  -> operator: forward of step "a", refused: the service refused (answer to command 3; resubmit; undo; resolve from day 1 12:00:20.002)
  reported
  attention 11:59:49.001

wait 48h
event resubmit r4
----
day 2 11:59:49.001
  resubmit r4 refused: step a is in doubt and its service may have forgotten the key by the time a call lands (keyRetention); find out at the service whether it happened, and resolve it first
  attention 11:59:49.001
