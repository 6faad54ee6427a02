# The agent takes a request after its stopBy, and says so: time in a queue is not a failure (P32).
step pay failures=1 queue=10m
step ship after=pay failures=1

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# Uncounted; the next copy may wait twice as long.
wait 40s
event too-late pay/1
----
12:00:40
    pay Processing, attempt 2, locked by scheduler-1, complete by 12:01:30
    attempt pay/1 ended: overdue queue
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:01:30 {"order":{"n":1}}
  due 12:00:30

event wake pay/1
----
  ignored: it belongs to an earlier attempt
  due 12:00:30

# An undo, too.
event done pay/2
----
    pay Processed, attempt 2
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:01:10
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:01:10 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event failed ship/1
----
  Compensating, because of failure
    ship Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:10
      error of attempt 1 at 12:00:40, refused: the service refused
    attempt ship/1 ended: failed refused
  -> ship-agent: undo-ship (undo/2), key o1/0/ship, stop by 12:01:10 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

wait 40s
event undo-too-late ship/2
----
12:01:20
    ship Compensating, attempt 3, 1 failed, locked by scheduler-1, complete by 12:02:10
    attempt ship/2 ended: overdue queue
  -> ship-agent: undo-ship (undo/3), key o1/0/ship, stop by 12:02:10 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event wake ship/2
----
  ignored: it belongs to an earlier attempt
  due 12:00:30
