# P23a, P18. Broken by: renewDeadline keeps the old one.
workflow on-deadline=stop
step a

event submit deadline=1m
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 1m
event deadline
----
12:01:00
  Error (forward)
  -> scheduler: settle
  due 12:00:30

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
  -> shop: failed, number 1, deadline the deadline of the order has passed
       a Processing, attempt 1
  due 12:00:30
