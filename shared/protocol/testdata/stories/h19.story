# H19. Hop budget does not bind undo. Broken by: claimUndo asks the hop budget too.
workflow hops=1
step a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Error (forward)
    a Processed, attempt 1
      error of attempt 0 at 12:00:00, hops: the order used up its hop budget: a loop, or far more retries than planned
  -> shop: failed, number 1, b hops the order used up its hop budget: a loop, or far more retries than planned
       a Processed, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "b", hops: the order used up its hop budget: a loop, or far more retries than planned (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event undo u1
----
  undo u1 accepted: 
  Compensating, because of operator
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of operator
    a Compensated, attempt 2
  -> shop: undone, number 2, b hops the order used up its hop budget: a loop, or far more retries than planned
       a Compensated, attempt 2
       b Pending, attempt 0
  reported
  at rest
