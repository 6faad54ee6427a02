# P49: a fact that a late reply has contradicted allows no other input.
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
event resolve f b not-happened
----
13:00:00
  resolve f accepted: 
    b Pending, attempt 1, 1 failed, without effect
  attention 12:00:00

event done b/1
----
    b Processed, attempt 1, 1 failed
  attention 12:00:00

to step a stop
to step b template=other
event move m
----
  move m refused: the order cannot go on with the new definition: step b: its input changed from "template" to "other"; if its service shows that it did not happen, resolve it as not-happened first
  attention 12:00:00
