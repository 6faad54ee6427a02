# An undo that its agent could not call for is handed back uncounted too (P45).
step pay grade=fenced undo-failures=1 queue=10s
step ship after=pay failures=1

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done pay/1
----
    pay Processed, attempt 1
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event failed ship/1
----
  Compensating, because of failure
    ship Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt ship/1 ended: failed refused
  -> ship-agent: undo-ship (undo/2), key o1/0/ship, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event undone ship/2
----
    pay Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    ship Compensated, attempt 2, 1 failed
  -> pay-agent: undo-pay (undo/2), key o1/0/pay, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event undo-not-now pay/2
----
    pay UndoWait, attempt 2, waits until 12:00:02.637, complete by 12:00:07.637
      error of attempt 2 at 12:00:00, unauthorized: no call was made, since 12:00:00
    attempt pay/2 ended: retry-later unauthorized
  -> scheduler: wake pay/2, at 12:00:02.637
  due 12:00:07.637

wait 3s
event wake pay/2
----
12:00:03
    pay Compensating, attempt 3, locked by scheduler-1, complete by 12:00:33
  -> pay-agent: undo-pay (undo/3), key o1/0/pay, stop by 12:00:33 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:07.637

# After maxQueueTime the operator has to look, and the effect stands.
event undo-not-now pay/3
----
    pay UndoWait, attempt 3, waits until 12:00:06.359, complete by 12:00:11.359
      error of attempt 3 at 12:00:03, unauthorized: no call was made, since 12:00:00
    attempt pay/3 ended: retry-later unauthorized
  -> scheduler: wake pay/3, at 12:00:06.359
  due 12:00:07.637

wait 5s
event wake pay/3
----
12:00:08
    pay Compensating, attempt 4, locked by scheduler-1, complete by 12:00:38
  -> pay-agent: undo-pay (undo/4), key o1/0/pay, stop by 12:00:38 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:07.637

wait 3s
event undo-not-now pay/4
----
12:00:11
  Error (undo), because of failure
    pay UndoWait, attempt 4
      error of attempt 4 at 12:00:11, unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made
    attempt pay/4 ended: retry-later unauthorized
  -> shop: failed, number 1, pay unauthorized the agent has not called its service for longer than maxQueueTime: no call was made
       pay UndoWait, attempt 4
       ship Compensated, attempt 2
  -> operator: undo of step "pay", unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made (answer to command 0; resubmit; undo; resolve from 12:00:39.001)
  reported
  attention 12:00:11
