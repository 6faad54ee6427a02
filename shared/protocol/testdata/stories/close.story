# An order in Error is closed when nothing can take effect any more; it is reported once, and then takes no command.
step a grade=plain stop
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
  due 12:00:30

event close c0
----
  close c0 refused: only an order in Error can be closed; this one is Processing
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event close c1
----
  close c1 refused: a call of step a may still take effect; wait until 2026-11-21T12:00:31.001Z
  attention 12:00:00

wait 41s
event close c2 command=3
----
12:00:41
  close c2 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00

event close c2b crash
----
  close c2b accepted: 
  Closed
  -> shop: closed, number 2, a refused the service refused, by ann: settled by hand
       a Failed, attempt 1
       b Pending, attempt 0
  the process dies before it has sent anything
  due 12:01:41

event close c2b command=0
----
  ignored: this command already has a verdict
  close c2b accepted: 
  -> shop: closed, number 2, a refused the service refused, by ann: settled by hand
       a Failed, attempt 1
       b Pending, attempt 0
  reported
  at rest

event settle
----
  ignored: everything was reported before
  at rest

event cancel x1
----
  cancel x1 refused: the order is Closed, which is final
  at rest

event resubmit r1
----
  resubmit r1 refused: the order is Closed, which is final
  at rest

event close c3
----
  close c3 refused: only an order in Error can be closed; this one is Closed
  at rest

event done a/1
----
  ignored: the task has ended
  at rest
