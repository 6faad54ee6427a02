# The Supervisor finds the last failure. It does not send a status: the Scheduler reports both (P11).
step a stop failures=1
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 30s
sweep
----
12:00:30
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt a/1 ended: overdue timeout
  -> scheduler: settle
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Failed, attempt 1
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  due 12:01:30

event settle crash
----
  ignored: sent again
  -> shop: failed, number 1, a timeout no reply by the complete-by time
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", timeout: no reply by the complete-by time (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:01:30

# It was not reported. When the resend time has passed the Supervisor asks again.
wait 60s
sweep
----
12:01:30
supervisor: ResendDue{}
  -> scheduler: settle
  due 12:02:30

event settle
----
  ignored: sent again
  -> shop: failed, number 1, a timeout no reply by the complete-by time
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", timeout: no reply by the complete-by time (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:30

# b was given up; in Error nothing waits, and the task stands in the operator's list.
event wake b/1
----
  ignored: a task in Error waits for the operator
  attention 12:00:30

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:02:00
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:02:00 {"order":{"n":1}}
  due 12:02:00

wait 2s
event wake b/1
----
12:01:32
  ignored: it belongs to an earlier attempt
  due 12:02:00

event undone b/2
----
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:02:02
    b Compensated, attempt 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:02:02 {"order":{"n":1}}
  due 12:02:00

event undone a/2
----
  Compensated, because of operator
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 2, a timeout no reply by the complete-by time
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest
