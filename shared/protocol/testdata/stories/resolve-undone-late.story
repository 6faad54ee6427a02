# P15: the operator has reversed a call by hand, and its "done" comes only now. The step is asked again, because nothing of
# it stands. Broken by: stepDone counts it, and the order is Processed without the step's effect.
step a stop
step b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later b/1
----
    b Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:01
  due 12:00:06

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    b Pending, attempt 1, 1 failed
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Pending, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 1h
event resolve f b undone
----
13:00:00
  resolve f accepted: 
    b Pending, attempt 1, 1 failed, without effect
  attention 12:00:00

event done b/1
----
  ignored: the operator has stated since that it was undone
  attention 12:00:00

event resubmit r
----
  resubmit r accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 13:00:30
    b Processing, attempt 2, locked by scheduler-1, complete by 13:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 13:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30, resolved: undone {"order":{"n":1}}
  due 13:00:30

event done b/1
----
  ignored: the operator has stated since that it was undone
  due 13:00:30

event done b/2
----
    b Processed, attempt 2
  due 13:00:30
