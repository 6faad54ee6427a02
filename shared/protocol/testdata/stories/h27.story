# H27. Only the sender of the end settles. Broken by: Settles answers true for any end.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1 crash
----
  Processed
    a Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
  the process dies before it has sent anything
  due 12:00:30

wait 1m
event resend
----
12:01:00
  -> scheduler: settle
  due 12:02:00

event settle
----
  ignored: sent again
  -> shop: completed, number 1, 
       a Processed, attempt 1
  reported
  at rest

event done a/1
----
  ignored: the task has ended
  at rest
