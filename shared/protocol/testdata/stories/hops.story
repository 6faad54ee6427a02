# Two forward claims are allowed. The third stops the task; undo is outside the budget (P23).
workflow hops=2
step a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 1s
event wake a/1
----
12:00:01
    a Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06

event done a/2
----
  Error (forward)
    a Processed, attempt 2, 1 failed
      error of attempt 0 at 12:00:01, hops: the order used up its hop budget: a loop, or far more retries than planned
  -> shop: failed, number 1, b hops the order used up its hop budget: a loop, or far more retries than planned
       a Processed, attempt 2
       b Pending, attempt 0
  -> operator: forward of step "b", hops: the order used up its hop budget: a loop, or far more retries than planned (answer to command 0; resubmit; undo)
  reported
  attention 12:00:01

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    a Processed, attempt 2
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:31
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:31 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:31

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
      error of attempt 1 at 12:00:01, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:31 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:31

event undone b/2
----
    a Compensating, attempt 3, locked by scheduler-1, complete by 12:00:31
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 12:00:31 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:31

event undone a/3
----
  Compensated, because of failure
    a Compensated, attempt 3
  -> shop: undone, number 2, b refused the service refused
       a Compensated, attempt 3
       b Compensated, attempt 2
  reported
  at rest
