# A step that moved while the order was in Error: its close reports how the steps stand then.
step a grade=idempotent stop
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

wait 41s
sweep
----
12:00:41
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Failed, attempt 1
      error of attempt 1 at 12:00:41, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  attention 12:00:00

event close c1
----
  close c1 accepted: 
  Closed
  -> shop: closed, number 2, a refused the service refused, by ann: settled by hand
       a Failed, attempt 1
       b Failed, attempt 1
  reported
  at rest

event close c2 command=0
----
  close c2 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  at rest

event close c3 command=1
----
  close c3 refused: only an order in Error can be closed; this one is Closed
  at rest
