# P32. The machine sleeps or is off for a weekend. That is no time in a queue: the step is asked again, whether the
# Supervisor or the agent finds it late. Broken by: backlog counts the time after completeBy.
step pay failures=1 queue=24h

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 60h
sweep backlog=pay
----
day 2 00:00:00
supervisor: Overdue{"Step":"pay","Attempt":1,"Queue":1}
    pay Pending, attempt 1, waits until day 2 00:00:00, complete by day 2 00:00:05
    attempt pay/1 ended: overdue queue
  -> scheduler: wake pay/1, at day 2 00:00:00
  due day 2 00:00:05

event wake pay/1
----
    pay Processing, attempt 2, locked by scheduler-1, complete by day 2 00:00:50
  -> pay-agent: do-pay (do/2), key o1/0/pay, stop by day 2 00:00:50 {"order":{"n":1}}
  due day 2 00:00:05

wait 60h
event too-late pay/2
----
day 5 12:00:00
    pay Processing, attempt 3, locked by scheduler-1, complete by day 5 12:01:30
    attempt pay/2 ended: overdue queue
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by day 5 12:01:30 {"order":{"n":1}}
  due day 2 00:00:05
