# An order in Error keeps when its waits end, and wakes none of them. Resubmit ends the one that is over, and
# lets the other go on to its time (P33).
workflow reports
step a stop failures=1
step w wait=30s
step v wait=10m
step b after=w

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:35
    v Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake w/1, at 12:00:30
  -> scheduler: wake v/1, at 12:10:00
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    w Waiting, attempt 1, waits until 12:00:30
    v Waiting, attempt 1, waits until 12:10:00
    attempt a/1 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a Failed, attempt 1
       w Waiting, attempt 1
       v Waiting, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resolve x1 w not-happened
----
  resolve x1 refused: the step is a wait, so nothing of it is in doubt; fix: state happened, which ends the wait now
  attention 12:00:00

wait 40s
event wake w/1
----
12:00:40
  ignored: a task in Error waits for the operator
  attention 12:00:00

sweep
----
nothing is overdue; due pushed: false
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:01:10
    w Processed, attempt 1
    v Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:10
  -> shop: started, number 3, 
  -> shop: step-finished, number 4, w
  -> scheduler: wake v/1, at 12:10:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:10 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:10 {"order":{"n":1}}
  due 12:01:10

event done a/2
----
    a Processed, attempt 2
  -> shop: step-finished, number 5, a   {"of":"a"}
  due 12:01:10

event resubmit r2
----
  resubmit r2 refused: the order is Processing; only one in Error, or Compensated, can be resubmitted
  due 12:01:10

wait 520s
event wake v/1
----
12:09:20
  ignored: its wait is not over
  due 12:01:10

wait 40s
event wake v/1
----
12:10:00
    v Processed, attempt 1
  -> shop: step-finished, number 6, v
  due 12:01:10
