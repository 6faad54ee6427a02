# A workflow may ask for an alert if an order is undone because a step failed (P11). The task keeps the time to report it
# again until it is settled.
workflow alert-undone
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2 crash
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
  -> operator: end of the undo of step "a", refused: the service refused (answer to command 0; resubmit)
  the process dies before it has sent anything
  due 12:00:30

event settle
----
  ignored: sent again
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
  -> operator: end of the undo of step "a", refused: the service refused (answer to command 0; resubmit)
  reported
  at rest
