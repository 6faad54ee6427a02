# The agent of a step is not deployed, and the step waits uncounted. A Wake that says that the agent can call
# again ends the wait early (P45); any other Wake does not.
step pay failures=1 queue=1h
step ship after=pay

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event no-agent pay/1
----
    pay Pending, attempt 1, waits until 12:00:02.502, complete by 12:00:07.502
      error of attempt 1 at 12:00:00, no-agent: no call was made, since 12:00:00
    attempt pay/1 ended: retry-later no-agent
  -> scheduler: wake pay/1, at 12:00:02.502
  due 12:00:07.502

event wake pay/1
----
  ignored: its wait is not over
  due 12:00:07.502

event wake pay/1 early
----
    pay Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:07.502

event breaker-open pay/2
----
    pay Pending, attempt 2, waits until 12:00:02.637, complete by 12:00:07.637
      error of attempt 2 at 12:00:00, breaker-open: no call was made, since 12:00:00
    attempt pay/2 ended: retry-later breaker-open
  -> scheduler: wake pay/2, at 12:00:02.637
  due 12:00:07.502

# Emitted again after a restart: the agents of the new process may be able to call.
restart
----
  -> scheduler: wake pay/2, now
  due 12:00:07.502

event wake pay/2 early
----
    pay Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:07.502

event done pay/3
----
    pay Processed, attempt 3
      error of attempt 2 at 12:00:00, breaker-open: no call was made
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:07.502

# An early Wake ends no backoff of a counted failure.
event later ship/1
----
    ship Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt ship/1 ended: retry-later http-503
  -> scheduler: wake ship/1, at 12:00:01
  due 12:00:06

event wake ship/1 early
----
  ignored: its wait is not over
  due 12:00:06
