# What another step failed at, and an attempt that its undo has taken the place of, speak against no agent (P44).
step pay others=east-agent
step ship failures=2
step bill others=east-agent after=ship

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later ship/1
----
    ship Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt ship/1 ended: retry-later http-503
  -> scheduler: wake ship/1, at 12:00:01
  due 12:00:06

wait 1s
event wake ship/1
----
12:00:01
    ship Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> ship-agent: do-ship (do/2), key o1/0/ship, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

event done ship/2
----
    ship Processed, attempt 2, 1 failed
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:31
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:31 {"order":{"n":1},"seen":{"ship":{"of":"ship"}}}
  due 12:00:06

event failed bill/1
----
  Compensating, because of failure
    bill Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
      error of attempt 1 at 12:00:01, refused: the service refused
    attempt bill/1 ended: failed refused
  -> east-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:00:31 {"order":{"n":1},"seen":{"ship":{"of":"ship"}}}
  due 12:00:06

event undone bill/2
----
    ship Compensating, attempt 3, 1 failed, locked by scheduler-1, complete by 12:00:31
    bill Compensated, attempt 2, 1 failed
  -> ship-agent: undo-ship (undo/3), key o1/0/ship, stop by 12:00:31 {"order":{"n":1},"seen":{"ship":{"of":"ship"}}}
  due 12:00:06

event undone ship/3
----
    pay Compensating, attempt 2, locked by scheduler-1, complete by 12:00:31
    ship Compensated, attempt 3, 1 failed
    attempt pay/1 ended: superseded
  -> pay-agent: undo-pay (undo/2), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06
