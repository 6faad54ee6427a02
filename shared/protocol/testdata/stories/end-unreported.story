# Of a workflow with events the end of every order goes to the bus too, with the number of the one status, again with a
# redelivered message, and by the Scheduler only.
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
  the process dies before it has sent anything
  at rest

wait 1h
sweep
----
13:00:00
nothing is overdue; due pushed: false
  at rest

event done a/1 crash
----
  ignored: the task has ended
  the process dies before it has sent anything
  at rest

event settle
----
  ignored: everything was reported before
  at rest
