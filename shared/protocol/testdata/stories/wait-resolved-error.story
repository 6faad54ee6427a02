# P34: the operator ends a wait before its time. A task that goes forward continues at once; one in Error waits for
# its Resubmit.
step a stop
step w wait=24h
step b after=w

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Waiting, attempt 1, waits until day 1 12:00:00, complete by day 1 12:00:00
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    w Waiting, attempt 1, waits until day 1 12:00:00
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       w Waiting, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resolve r w happened
----
  resolve r accepted: 
    w Processed, attempt 1
  attention 12:00:00

event resubmit c
----
  resubmit c accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
