# P49: nothing binds a Compensated task, and so no deadline of its last run is evaluated again.
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

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
  reported
  at rest

to step a deadline-until=soon
event move m
----
  move m accepted: 
  at rest
