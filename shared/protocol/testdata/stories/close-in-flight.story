# Two steps at once: the second is still in flight when the first stops the order. Its time has passed, and no sweep has come.
step a grade=idempotent stop
step b grade=idempotent undo-failures=1

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
event close c1
----
12:00:41
  close c1 refused: step b is in flight; wait for its reply, or until its time has passed (2026-11-21T12:00:30.000Z) and the Supervisor has looked at it
  due 12:00:30

sweep
----
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Failed, attempt 1
      error of attempt 1 at 12:00:41, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  attention 12:00:00

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:01:11
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:01:11 {"order":{"n":1}}
  due 12:01:11

event undo-failed b/2
----
  Error (undo), because of operator
    b UndoWait, attempt 2, 1 undos failed
      error of attempt 2 at 12:00:41, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Failed, attempt 1
       b UndoWait, attempt 2
  -> operator: undo of step "b", refused: the service refused (answer to command 2; resubmit; undo; resolve from 12:01:12.001)
  reported
  attention 12:00:41

event close c2
----
  close c2 refused: a call of step b may still take effect; wait until 2026-11-21T12:01:12.001Z
  attention 12:00:41

wait 5m
event close c3
----
12:05:41
  close c3 accepted: 
  Closed, because of operator
  -> shop: closed, number 3, b refused the service refused, by ann: settled by hand
       a Failed, attempt 1
       b UndoWait, attempt 2
  reported
  at rest

event undone b/2
----
  ignored: the task has ended
  at rest
