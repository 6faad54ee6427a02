# Of a workflow with events the end of every order goes to the bus too, with the number of the one status, again with a
# redelivered message, and by the Scheduler only.
workflow events
step a

event submit reply-to=
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1 crash
----
  Processed
    a Processed, attempt 1
  -> events: completed, number 1, 
       a Processed, attempt 1
  the process dies before it has sent anything
  due 12:00:30

wait 1h
sweep
----
13:00:00
supervisor: ResendDue{}
  -> scheduler: settle
  due 14:00:00

event done a/1 crash
----
  ignored: the task has ended
  -> events: completed, number 1, 
       a Processed, attempt 1
  the process dies before it has sent anything
  due 14:00:00

event settle
----
  ignored: sent again
  -> events: completed, number 1, 
       a Processed, attempt 1
  reported
  at rest
