# H15. Error with a branch in flight stays due. Broken by: Live looks at steps in flight only while the task is not in
# Error.
step a stop
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

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  -> scheduler: wake b/1, at 12:00:31.001
  due 12:00:36.001

wait 1m
event wake b/1
----
12:01:31
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:02:01
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:02:01 {"order":{"n":1}}
  due 12:00:36.001
