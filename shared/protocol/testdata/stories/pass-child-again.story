# The child is undone, and begins its next run with what its parent still has.
step e event=data
step b after=e

event parent start 1 a1:data:one
----
  Processing
    e Processed, attempt 1, round 1, decided "one" by ann
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"e":{"value":"one","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"e":{"value":"one","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event undone b/2
----
  Compensated, because of failure
    e Compensated, attempt 1, round 1, decided "one" by ann
    b Compensated, attempt 2, 1 failed
  -> parent/1: compensated refused the service refused, took 1
  reported
  at rest

event parent start 2 a2:data:two
----
  Processing, run 1
    e Processed, attempt 2, round 1, decided "two" by ann
    b Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/3), key o1/1/b, stop by 12:00:30 {"order":{"n":1},"seen":{"e":{"value":"two","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event done b/3
----
  Processed, run 1
    b Processed, attempt 3
  -> parent/2: processed , took 1
  reported
  at rest
