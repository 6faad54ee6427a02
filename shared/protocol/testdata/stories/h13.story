# H13. Old submit starts nothing. Broken by: submittedAgain does not know a tombstone. (That the order's row stays
# when the task is gone is the store's part, P26.)
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
  reported
  at rest

event settle
----
  ignored: everything was reported before
  at rest

wait 720h
event submit
----
day 30 12:00:00
  ignored: the order is there
  at rest
