# The Supervisor leaves the end of a child to the Scheduler (P11).
step a failures=1 stop

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt a/1 ended: overdue timeout
  -> scheduler: settle
  due 12:01:31

event settle
----
  ignored: sent again
  -> parent/1: error timeout no reply by the complete-by time
  -> operator: forward of step "a", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:31
