# P34: the operator ends a wait before its time. A task that goes forward continues at once; one in Error waits for
# its Resubmit.
step a
step w wait=24h

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Waiting, attempt 1, waits until day 1 12:00:00, complete by day 1 12:00:00
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake w/1, at day 1 12:00:00
  due 12:00:30

event cancel c
----
  cancel c accepted: 
  Compensating, because of cancel
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    w Compensated, attempt 1
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event resolve r w happened
----
  resolve r refused: only an order in Error takes a fact; this one is Compensating
  due 12:00:30
