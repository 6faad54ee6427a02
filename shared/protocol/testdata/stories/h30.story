# H30. Cancel during undo is kept. Broken by: cancelled does not keep CancelAsked.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  due 12:00:30

event undone a/2
----
  Cancelled, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: cancelled, number 1, a refused the service refused
       a Compensated, attempt 2
  reported
  at rest

event resubmit r1
----
  resubmit r1 refused: the order is Cancelled, which is final
  at rest

event cancel c1
----
  ignored: this command already has a verdict
  cancel c1 accepted: 
  at rest
