# The agent's credentials have expired: no call was made, so nothing is counted (P45).
step pay failures=1 queue=10s

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-now pay/1
----
    pay Pending, attempt 1, waits until 12:00:02.502, complete by 12:00:07.502
      error of attempt 1 at 12:00:00, unauthorized: no call was made, since 12:00:00
    attempt pay/1 ended: retry-later unauthorized
  -> scheduler: wake pay/1, at 12:00:02.502
  due 12:00:07.502

# The Wake that comes too early, and a copy of the reply, change nothing.
event wake pay/1
----
  ignored: its wait is not over
  due 12:00:07.502

event not-now pay/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:07.502

# Each wait is at least as long as the step has waited so far.
wait 3s
event wake pay/1
----
12:00:03
    pay Processing, attempt 2, locked by scheduler-1, complete by 12:00:33
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:00:33 {"order":{"n":1}}
  due 12:00:07.502

event breaker-open pay/2 retry-after=4s
----
    pay Pending, attempt 2, waits until 12:00:07, complete by 12:00:12
      error of attempt 2 at 12:00:03, breaker-open: no call was made, since 12:00:00
    attempt pay/2 ended: retry-later breaker-open
  -> scheduler: wake pay/2, at 12:00:07
  due 12:00:07.502

wait 5s
event wake pay/2
----
12:00:08
    pay Processing, attempt 3, locked by scheduler-1, complete by 12:00:38
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:00:38 {"order":{"n":1}}
  due 12:00:07.502

event not-now pay/3
----
    pay Pending, attempt 3, waits until 12:00:10, complete by 12:00:15
      error of attempt 3 at 12:00:08, unauthorized: no call was made, since 12:00:00
    attempt pay/3 ended: retry-later unauthorized
  -> scheduler: wake pay/3, at 12:00:10
  due 12:00:07.502

# After maxQueueTime the operator has to look; nothing is undone.
wait 3s
event wake pay/3
----
12:00:11
    pay Processing, attempt 4, locked by scheduler-1, complete by 12:00:41
  -> pay-agent: do-pay (do/4), key o1/0/pay, stop by 12:00:41 {"order":{"n":1}}
  due 12:00:07.502

event not-now pay/4
----
  Error (forward)
    pay Failed, attempt 4
      error of attempt 4 at 12:00:11, unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made
    attempt pay/4 ended: retry-later unauthorized
  -> shop: failed, number 1, pay unauthorized the agent has not called its service for longer than maxQueueTime: no call was made
       pay Failed, attempt 4
  -> operator: forward of step "pay", unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made (answer to command 0; resubmit; undo; resolve from 12:00:42.001)
  reported
  attention 12:00:11

# Resubmit gives it the whole time again.
event resubmit c1
----
  resubmit c1 accepted: 
  Processing
    pay Processing, attempt 5, locked by scheduler-1, complete by 12:00:41
  -> pay-agent: do-pay (do/5), key o1/0/pay, stop by 12:00:41 {"order":{"n":1}}
  due 12:00:41

event not-now pay/5
----
    pay Pending, attempt 5, waits until 12:00:13.594, complete by 12:00:18.594
      error of attempt 5 at 12:00:11, unauthorized: no call was made, since 12:00:11
    attempt pay/5 ended: retry-later unauthorized
  -> scheduler: wake pay/5, at 12:00:13.594
  due 12:00:18.594
