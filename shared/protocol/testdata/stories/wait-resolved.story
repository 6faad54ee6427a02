# P34: the operator ends a wait before its time. A task that goes forward continues at once; one in Error waits for
# its Resubmit.
step w wait=24h
step b after=w

event submit
----
  Processing
    w Waiting, attempt 1, waits until day 1 12:00:00, complete by day 1 12:00:00
    b Pending
  -> scheduler: wake w/1, at day 1 12:00:00
  due day 1 12:00:00

event resolve r w happened
----
  resolve r accepted: 
    w Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event resolve r w happened command=0
----
  ignored: this command already has a verdict
  resolve r accepted: 
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event wake w/1
----
  ignored: the step is not in a state that waits
  due 12:00:30
