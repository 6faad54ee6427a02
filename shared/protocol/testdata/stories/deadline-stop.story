workflow on-deadline=stop
step a

event submit deadline=5s
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:05

wait 5s
sweep
----
12:00:05
supervisor: DeadlinePassed{"Run":0}
  Error (forward)
  -> scheduler: settle
  due 12:00:30

event settle
----
  ignored: sent again
  -> shop: failed, number 1, deadline the deadline of the order has passed
       a Processing, attempt 1
  -> operator: forward of step "", deadline: the deadline of the order has passed (answer to command 0; resubmit; undo)
  reported
  due 12:00:30

# Late, and recorded; Error stays until the operator goes on.
event done a/1
----
    a Processed, attempt 1
  attention 12:00:05

event resubmit r1
----
  resubmit r1 accepted: 
  Processed
  -> shop: completed, number 2, 
       a Processed, attempt 1
  reported
  at rest
