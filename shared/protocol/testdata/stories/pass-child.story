# The child takes the first answer to its event. The next one stays with the parent. The end says what was taken.
step e event=data
step b after=e

event parent start 1
----
  Processing
    e Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> scheduler: wake e/1, at 13:00:00
  due 13:00:00

event parent start 1 a1:data:one
----
    e Processed, attempt 1, round 1, decided "one" by ann
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"e":{"value":"one","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event parent start 1 a1:data:one
----
  ignored: the child is Processing
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"e":{"value":"one","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event parent start 1 a1:data:one a2:data:two
----
  ignored: the child is Processing
  due 12:00:30

event done b/1
----
  Processed
    b Processed, attempt 1
  -> parent/1: processed , took 1
  reported
  at rest

event parent start 1 a1:data:one a2:data:two
----
  ignored: the child is Processed
  -> parent/1: processed , took 1
  at rest
