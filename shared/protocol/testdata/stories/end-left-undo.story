# P11. An end that was left is not reported any more. Broken by: left keeps the resend time.
step a stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1 crash
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:00:30

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 2m
sweep
----
12:02:00
supervisor: Overdue{"Step":"a","Attempt":2,"Queue":0}
    a UndoWait, attempt 2, 1 failed, 1 undos failed, waits until 12:02:02, complete by 12:02:07
      error of attempt 2 at 12:02:00, timeout: no reply to the undo by the complete-by time
    attempt a/2 ended: overdue timeout
  -> scheduler: wake a/2, at 12:02:02
  due 12:02:07
