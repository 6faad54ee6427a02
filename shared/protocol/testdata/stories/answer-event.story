# An event by its name goes to every step that waits for it or will; the first value counts (P35, P36).
step first event=bought timeout=10m timeout-value=none
step a after=first
step second event=bought schema after=first timeout=10m
step b after=second

event submit
----
  Processing
    first Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
    a Pending
    second Pending
    b Pending
  -> scheduler: wake first/1, at 12:10:00
  due 12:10:05

event answer bought {"x":1} by=shop
----
  answer a1 accepted: 
    first Processed, attempt 1, round 1, decided {"x":1} by shop
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    second Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"first":{"value":{"x":1},"by":"shop","at":"2026-11-21T12:00:00.000Z"}}}
  -> scheduler: wake second/1, at 12:10:00
  due 12:00:30

event answer bought 7 by=shop
----
  answer a2 accepted: 
    second Processed, attempt 1, round 1, decided 7 by shop
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"first":{"value":{"x":1},"by":"shop","at":"2026-11-21T12:00:00.000Z"},"second":{"value":7,"by":"shop","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event answer bought 8 by=shop
----
  answer a3 refused: step first was decided at 2026-11-21T12:00:00.000Z: {"x":1} by shop
  due 12:00:30

event answer sold 8 by=shop
----
  answer a4 refused: no step of the order waits for an event sold
  due 12:00:30

event answer b/1 8 by=shop
----
  answer a5 refused: step b is not one that is answered
  due 12:00:30

event answer nowhere/1 8 by=shop
----
  answer a6 refused: the order has no step nowhere
  due 12:00:30
