# The agent's queue is longer than it can serve: time in a queue is not a failure (P32).
step pay failures=1 queue=2m

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# Uncounted; the next copy may wait twice as long.
wait 30s
sweep backlog=pay
----
12:00:30
supervisor: Overdue{"Step":"pay","Attempt":1,"Queue":1}
    pay Pending, attempt 1, waits until 12:00:30, complete by 12:00:35
    attempt pay/1 ended: overdue queue
  -> scheduler: wake pay/1, at 12:00:30
  due 12:00:35

event wake pay/1
----
    pay Processing, attempt 2, locked by scheduler-1, complete by 12:01:20
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by 12:01:20 {"order":{"n":1}}
  due 12:00:35

wait 50s
sweep backlog=pay
----
12:01:20
supervisor: Overdue{"Step":"pay","Attempt":2,"Queue":1}
    pay Pending, attempt 2, waits until 12:01:20, complete by 12:01:25
    attempt pay/2 ended: overdue queue
  -> scheduler: wake pay/2, at 12:01:20
  due 12:01:25

# Another instance has seen requests wait for 45 s.
seen pay-agent 45s
event wake pay/2
----
    pay Processing, attempt 3, locked by scheduler-1, complete by 12:03:00
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:03:00 {"order":{"n":1}}
  due 12:01:25

# In all it has waited for longer than maxQueueTime: a person has to look, nothing is undone.
wait 100s
sweep backlog=pay
----
12:03:00
supervisor: Overdue{"Step":"pay","Attempt":3,"Queue":1}
  Error (forward)
    pay Failed, attempt 3
      error of attempt 3 at 12:03:00, queue: its request has waited for agent pay-agent for longer than maxQueueTime, 2m0s; see that the agent runs and keeps up, then resubmit
    attempt pay/3 ended: overdue queue
  -> scheduler: settle
  due 12:04:00

event settle
----
  ignored: sent again
  -> shop: failed, number 1, pay queue its request has waited for agent pay-agent for longer than maxQueueTime, 2m0s; see that the agent runs and keeps up, then resubmit
       pay Failed, attempt 3
  -> operator: forward of step "pay", queue: its request has waited for agent pay-agent for longer than maxQueueTime, 2m0s; see that the agent runs and keeps up, then resubmit (answer to command 0; resubmit; undo; resolve from 12:03:01.001)
  reported
  attention 12:03:00
