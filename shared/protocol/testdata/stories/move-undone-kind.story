# P49: nothing binds a Compensated task. A step that is of another kind now begins anew, and so does one whose failure
# had no claim. Broken by: the Move keeps their states, which the new definition cannot have.
step a when=fails continue
step b after=a

event submit
----
  Processing
    a Compensated, failed for good: expression
      error of attempt 0 at 12:00:00, expression: when: no such field
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone b/2
----
  Compensated, because of failure
    b Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, b refused the service refused
       a Compensated, attempt 0
       b Compensated, attempt 2
  reported
  at rest

to step b wait=1h
to step a
event move m
----
  move m accepted: 
    b Pending, attempt 2
    a Pending
  at rest

event resubmit r
----
  resubmit r accepted: 
  Processing, run 1
    b Waiting, attempt 3, waits until 13:00:00, complete by 13:00:00
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake b/3, at 13:00:00
  -> a-agent: do-a (do/1), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
