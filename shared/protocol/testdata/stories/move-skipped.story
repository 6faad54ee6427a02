# P49: a Skipped step must stay the same, like an attempted one.
step a
step b after=a when=false
step c after=a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Skipped
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed c/1
----
  Error (forward)
    c Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt c/1 ended: failed refused
  -> shop: failed, number 1, c refused the service refused
       a Processed, attempt 1
       b Skipped, attempt 0
       c Failed, attempt 1
  -> operator: forward of step "c", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a
to step c after=a stop
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step b: it is removed, and was skipped
  attention 12:00:00

to step a
to step b after=a when=true
to step c after=a stop
event move m2
----
  move m2 accepted: 
  attention 12:00:00

to step a
to step b after=a when=false
to step c after=a stop
event move m3
----
  move m3 accepted: 
  attention 12:00:00
