# P49, P22a: a proof by the service that there was no effect allows another input.
step a no-return

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, point of no return {"order":{"n":1}}
  due 12:00:30

event failed a/1 no-effect
----
  Error (forward)
    a Failed, attempt 1, 1 failed, without effect
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a no-return template=other
event move m1
----
  move m1 accepted: 
  attention 12:00:00
