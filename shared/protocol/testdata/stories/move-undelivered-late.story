# P12: a status that is recorded as undelivered after the Move is sent again with the steps that it had.
workflow reports
step a stop
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a Failed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to workflow reports
to step d
to step a stop
event move m
----
  move m accepted: 
    d Pending
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
  attention 12:00:00

event unsent shop 2 it does not exist
----
  shop has no status from number 2 on: it does not exist; again at 12:01:00
  due 12:01:00

wait 1h
event settle
----
13:00:00
  ignored: sent again
  -> shop: failed, number 2, a refused the service refused
       a Failed, attempt 1
       b Pending, attempt 0
  delivered
  attention 12:00:00
