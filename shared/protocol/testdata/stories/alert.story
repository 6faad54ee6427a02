# An alert offers the commands that the task accepts: none that the point of no return or a forgotten key forbids. It
# offers a fact from the time at which the step's calls are over.
step a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 1s
event failed a/1
----
12:00:01
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:01, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:01

event resolve early a not-happened
----
  resolve early refused: a call of the step may still take effect; wait until 2026-11-21T12:00:31.001Z
  attention 12:00:01

wait 30s
event resolve f a not-happened
----
12:00:31
  resolve f refused: a call of the step may still take effect; wait until 2026-11-21T12:00:31.001Z
  attention 12:00:01

wait 1ms
event resolve on-time a not-happened
----
12:00:31.001
  resolve on-time accepted: 
    a Failed, attempt 1, 1 failed, without effect
  attention 12:00:01
