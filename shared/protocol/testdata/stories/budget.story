# Two failures are allowed: the second one is the last (P16).
step pay failures=2

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

wait 1s
event wake pay/1
----
12:00:01
    pay Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

event later pay/2
----
  Compensating, because of failure
    pay Compensating, attempt 3, 2 failed, locked by scheduler-1, complete by 12:00:31
      error of attempt 2 at 12:00:01, http-503: the service is not well
    attempt pay/2 ended: retry-later http-503
  -> pay-agent: undo-pay (undo/3), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06
