# H4. Resumed it keeps its keys. Broken by: resume raises Run.
step a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
