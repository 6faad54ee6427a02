# The service remembers keys for 5 minutes and 20 seconds, and the step would go on trying for longer.
# A copy of a request that comes later than that could be done a second time, so that the last claim
# stops earlier than usual; and once the key may be forgotten the step is not claimed again: it waits
# for the operator (P18).
step pay failures=2 rounds=3 kept=5m20s grade=idempotent

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
    pay Pending, attempt 2, 2 failed, waits until 12:05:01, complete by 12:05:06
      error of attempt 2 at 12:00:01, http-503: the service is not well
    attempt pay/2 ended: retry-later http-503
  -> scheduler: wake pay/2, at 12:05:01
  due 12:00:06

# Until 12:05:19 the key is known: there is room for the call, and not for all of the wait in a queue.
wait 5m
event wake pay/2
----
12:05:01
    pay Processing, attempt 3, 2 failed, locked by scheduler-1, complete by 12:05:19
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:05:19 {"order":{"n":1}}
  due 12:00:06

event later pay/3
----
    pay Pending, attempt 3, 3 failed, waits until 12:10:01, complete by 12:10:06
      error of attempt 3 at 12:05:01, http-503: the service is not well
    attempt pay/3 ended: retry-later http-503
  -> scheduler: wake pay/3, at 12:10:01
  due 12:00:06

wait 5m
event wake pay/3
----
12:10:01
  Error (forward)
    pay Failed, attempt 3, 3 failed
      error of attempt 3 at 12:10:01, key-forgotten: it is in doubt, and was not asked again, because its service may not know the idempotency key any more (keyRetention): find out at the service whether it happened, and resolve it
  -> shop: failed, number 1, pay key-forgotten it is in doubt, and was not asked again, because its service may not know the idempotency key any more (keyRetention): find out at the service whether it happened, and resolve it
       pay Failed, attempt 3
  -> operator: forward of step "pay", key-forgotten: it is in doubt, and was not asked again, because its service may not know the idempotency key any more (keyRetention): find out at the service whether it happened, and resolve it (answer to command 0; undo; resolve)
  reported
  attention 12:10:01

event resubmit x1 command=0
----
  resubmit x1 refused: step pay is in doubt and its service may have forgotten the key by the time a call lands (keyRetention); find out at the service whether it happened, and resolve it first
  attention 12:10:01

# The operator asks the service. It has not happened; from now on the key counts as new.
wait 1m
event resolve x2 pay not-happened
----
12:11:01
  resolve x2 accepted: 
    pay Failed, attempt 3, 3 failed, without effect
  attention 12:10:01

event resubmit x3
----
  resubmit x3 accepted: 
  Processing
    pay Processing, attempt 4, locked by scheduler-1, complete by 12:11:31
  -> pay-agent: do-pay (do/4), key o1/0/pay, stop by 12:11:31, resolved: not-happened {"order":{"n":1}}
  due 12:11:31

event later pay/4
----
    pay Pending, attempt 4, 1 failed, waits until 12:11:02, complete by 12:11:07
      error of attempt 4 at 12:11:01, http-503: the service is not well
    attempt pay/4 ended: retry-later http-503
  -> scheduler: wake pay/4, at 12:11:02
  due 12:11:07

wait 1s
event wake pay/4
----
12:11:02
    pay Processing, attempt 5, 1 failed, locked by scheduler-1, complete by 12:11:32
  -> pay-agent: do-pay (do/5), key o1/0/pay, stop by 12:11:32, resolved: not-happened {"order":{"n":1}}
  due 12:11:07

event done pay/5
----
  Processed
    pay Processed, attempt 5, 1 failed
  -> shop: completed, number 2, 
       pay Processed, attempt 5
  reported
  at rest
