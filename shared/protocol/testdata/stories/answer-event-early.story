# An event that came before its step; another value is refused also before it.
step a
step first event=bought after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    first Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer bought 7 by=shop
----
  answer a1 accepted: 
    first Pending, round 1, shop: 7
  due 12:00:30

event answer bought 7 by=web
----
  answer a2 accepted: 
  due 12:00:30

event answer bought 8 by=web
----
  answer a3 refused: an event came before, from shop at 2026-11-21T12:00:00.000Z
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
    first Processed, attempt 1, round 1, decided 7 by shop
  -> shop: completed, number 1, 
       a Processed, attempt 1
       first Processed, attempt 1
  reported
  at rest
