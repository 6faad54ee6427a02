# Past its point of no return an order is not undone, and its alert does not offer it.
step a no-return

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, point of no return {"order":{"n":1}}
  due 12:00:30

wait 1s
event failed a/1
----
12:00:01
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:01, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:01
