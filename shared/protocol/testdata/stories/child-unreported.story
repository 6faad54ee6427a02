# The end of a child is reported until it was sent, by the Scheduler alone (P11, P41).
step a failures=1 stop

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1 crash
----
  Processed
    a Processed, attempt 1
  -> parent/1: processed 
  the process dies before it has sent anything
  due 12:00:30

wait 61s
sweep
----
12:01:01
supervisor: ResendDue{}
  -> scheduler: settle
  due 12:02:02

event settle
----
  ignored: sent again
  -> parent/1: processed 
  reported
  at rest
