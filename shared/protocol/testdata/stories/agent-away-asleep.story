# P45. The machine sleeps or is off for a weekend while an agent cannot call its service. That does not count against
# maxQueueTime: the service gets as long as before to come back. Broken by: the series counts all of the time.
step pay failures=1 queue=1m

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event breaker-open pay/1
----
    pay Pending, attempt 1, waits until 12:00:02.502, complete by 12:00:07.502
      error of attempt 1 at 12:00:00, breaker-open: no call was made, since 12:00:00
    attempt pay/1 ended: retry-later breaker-open
  -> scheduler: wake pay/1, at 12:00:02.502
  due 12:00:07.502

wait 60h
event wake pay/1
----
day 2 00:00:00
    pay Processing, attempt 2, locked by scheduler-1, complete by day 2 00:00:30
      error of attempt 1 at 12:00:00, breaker-open: no call was made, since day 2 23:59:52.498
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by day 2 00:00:30 {"order":{"n":1}}
  due 12:00:07.502

event breaker-open pay/2
----
    pay Pending, attempt 2, waits until day 2 00:00:09.892, complete by day 2 00:00:14.892
      error of attempt 2 at day 2 00:00:00, breaker-open: no call was made, since day 2 23:59:52.498
    attempt pay/2 ended: retry-later breaker-open
  -> scheduler: wake pay/2, at day 2 00:00:09.892
  due 12:00:07.502

wait 10s
event wake pay/2
----
day 2 00:00:10
    pay Processing, attempt 3, locked by scheduler-1, complete by day 2 00:00:40
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by day 2 00:00:40 {"order":{"n":1}}
  due 12:00:07.502

event done pay/3
----
  Processed
    pay Processed, attempt 3
      error of attempt 2 at day 2 00:00:00, breaker-open: no call was made
  -> shop: completed, number 1, 
       pay Processed, attempt 3
  reported
  at rest
