# A step with three agents for one service: each attempt that is not done goes on at another one (P44).
step pay others=east-agent,west-agent

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
  -> east-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

event later pay/2
----
    pay Pending, attempt 2, 2 failed, waits until 12:00:03, complete by 12:00:08
      error of attempt 2 at 12:00:01, http-503: the service is not well
    attempt pay/2 ended: retry-later http-503
  -> scheduler: wake pay/2, at 12:00:03
  due 12:00:06

wait 2s
event wake pay/2
----
12:00:03
    pay Processing, attempt 3, 2 failed, locked by scheduler-1, complete by 12:00:33
  -> west-agent: do-pay (do/3), key o1/0/pay, stop by 12:00:33 {"order":{"n":1}}
  due 12:00:06

event done pay/3
----
  Processed
    pay Processed, attempt 3, 2 failed
  -> shop: completed, number 1, 
       pay Processed, attempt 3
  reported
  at rest
