# What the operator states to have happened is Processed; the order goes on from there.
workflow reports
step a grade=plain stop failures=1
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
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
  due 12:01:30

event settle
----
  ignored: sent again
  -> shop: failed, number 2, a timeout no reply by the complete-by time
       a Failed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", timeout: no reply by the complete-by time (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:30

wait 2s
event resolve x1 a happened
----
12:00:32
  resolve x1 accepted: 
    a Processed, attempt 1, 1 failed
  attention 12:00:30

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:02
  -> shop: started, number 3, 
  -> shop: step-finished, number 4, a
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:02 {"order":{"n":1}}
  due 12:01:02

event done b/1
----
  Processed
    b Processed, attempt 1
  -> shop: step-finished, number 5, b   {"of":"b"}
  -> shop: completed, number 6, 
       a Processed, attempt 1
       b Processed, attempt 1
  reported
  at rest
