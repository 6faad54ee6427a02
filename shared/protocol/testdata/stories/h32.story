# H32. Unreported end survives the process. Broken by: Restart leaves out the unreported end. (That a status in memory
# is settled when it is taken is the embedded runtime's part, P27.)
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

restart
----
  -> shop: completed, number 1, 
       a Processed, attempt 1
  reported
  at rest
