# P33. The same if the time of the wait has come.
step a stop
step w wait=1m
step b after=w

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Waiting, attempt 1, waits until 12:01:00, complete by 12:01:05
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake w/1, at 12:01:00
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    w Waiting, attempt 1, waits until 12:01:00
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       w Waiting, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 1m
event wake w/1
----
12:01:00
  ignored: a task in Error waits for the operator
  attention 12:00:00

event resolve r w not-happened
----
  resolve r refused: the step is a wait, so nothing of it is in doubt; fix: state happened, which ends the wait now
  attention 12:00:00

event resubmit c
----
  resubmit c accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:01:30
    w Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:30 {"order":{"n":1}}
  due 12:01:30
