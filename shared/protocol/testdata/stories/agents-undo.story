# Where the step was done at last, what failed before does not count: its undo begins at the first agent again (P44).
step pay others=east-agent
step ship after=pay failures=1

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later pay/1
----
    pay Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt pay/1 ended: retry-later http-503
  -> scheduler: wake pay/1, at 12:00:01
  due 12:00:06

wait 1s
event wake pay/1
----
12:00:01
    pay Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> east-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

event done pay/1
----
    pay Processed, attempt 2, 1 failed
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:31
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:31 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:06

event failed ship/1
----
  Compensating, because of failure
    ship Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
      error of attempt 1 at 12:00:01, refused: the service refused
    attempt ship/1 ended: failed refused
  -> ship-agent: undo-ship (undo/2), key o1/0/ship, stop by 12:00:31 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:06

event undone ship/2
----
    pay Compensating, attempt 3, 1 failed, locked by scheduler-1, complete by 12:00:31
    ship Compensated, attempt 2, 1 failed
  -> pay-agent: undo-pay (undo/3), key o1/0/pay, stop by 12:00:31 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:06

event undo-later pay/3
----
    pay UndoWait, attempt 3, 1 failed, 1 undos failed, waits until 12:00:03, complete by 12:00:08
      error of attempt 3 at 12:00:01, http-503: the service is not well
    attempt pay/3 ended: retry-later http-503
  -> scheduler: wake pay/3, at 12:00:03
  due 12:00:06

wait 5s
event wake pay/3
----
12:00:06
    pay Compensating, attempt 4, 1 failed, 1 undos failed, locked by scheduler-1, complete by 12:00:36
  -> east-agent: undo-pay (undo/4), key o1/0/pay, stop by 12:00:36 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:06
