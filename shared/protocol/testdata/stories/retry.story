# Transient failures: back off 1 s, 2 s; then the extended wait of 5 minutes, once; then give up.
step pay failures=3 rounds=1

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later pay/1
----
    pay Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt pay/1 ended: retry-later http-503
  -> scheduler: wake pay/1, at 12:00:01
  due 12:00:06

# Too early by a moment: the Scheduler is woken, the wait is not over.
event wake pay/1
----
  ignored: its wait is not over
  due 12:00:06

wait 1s
event wake pay/1
----
12:00:01
    pay Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

# No reply at all this time. The Supervisor hands it back and wakes the Scheduler.
wait 30s
sweep
----
12:00:31
supervisor: Overdue{"Step":"pay","Attempt":2,"Queue":0}
    pay Pending, attempt 2, 2 failed, waits until 12:00:33, complete by 12:00:38
      error of attempt 2 at 12:00:31, timeout: no reply by the complete-by time
    attempt pay/2 ended: overdue timeout
  -> scheduler: wake pay/2, at 12:00:33
  due 12:00:38

# The Wake is lost. It asks again; nothing is counted, the wait does not move.
wait 7s
sweep
----
12:00:38
supervisor: Overdue{"Step":"pay","Attempt":2,"Queue":0}
    pay Pending, attempt 2, 2 failed, waits until 12:00:33, complete by 12:00:43
  -> scheduler: wake pay/2, now
  due 12:00:43

event wake pay/2
----
    pay Processing, attempt 3, 2 failed, locked by scheduler-1, complete by 12:01:08
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:01:08 {"order":{"n":1}}
  due 12:00:43

# The service asks for more patience than the backoff has.
event later pay/3 retry-after=20m
----
    pay Pending, attempt 3, 3 failed, waits until 12:20:38, complete by 12:20:43
      error of attempt 3 at 12:00:38, http-503: the service is not well
    attempt pay/3 ended: retry-later http-503
  -> scheduler: wake pay/3, at 12:20:38
  due 12:00:43

wait 20m
event wake pay/3
----
12:20:38
    pay Processing, attempt 4, 3 failed, locked by scheduler-1, complete by 12:21:08
  -> pay-agent: do-pay (do/4), key o1/0/pay, stop by 12:21:08 {"order":{"n":1}}
  due 12:00:43

# At the budget: in doubt, and undone.
wait 30s
sweep
----
12:21:08
supervisor: Overdue{"Step":"pay","Attempt":4,"Queue":0}
  Compensating, because of failure
    pay UndoWait, attempt 4, 4 failed, complete by 12:21:13
      error of attempt 4 at 12:21:08, timeout: no reply by the complete-by time
    attempt pay/4 ended: overdue timeout
  -> scheduler: wake pay/4, now
  due 12:21:13

event wake pay/4
----
    pay Compensating, attempt 5, 4 failed, locked by scheduler-1, complete by 12:21:38
  -> pay-agent: undo-pay (undo/5), key o1/0/pay, stop by 12:21:38 {"order":{"n":1}}
  due 12:21:13

event undone pay/5
----
  Compensated, because of failure
    pay Compensated, attempt 5, 4 failed
  -> shop: undone, number 1, pay timeout no reply by the complete-by time
       pay Compensated, attempt 5
  reported
  at rest
