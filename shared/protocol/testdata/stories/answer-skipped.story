# A step that was skipped takes no answer; of an event's steps the others do.
step first event=bought when=false
step second event=bought
step b after=second

event submit
----
  Processing
    first Skipped
    second Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> scheduler: wake second/1, at 13:00:00
  due 13:00:00

event answer first/1 7 by=shop
----
  answer a1 refused: step first was skipped
    first Skipped, round 1
  due 13:00:00

event answer bought 7 by=shop
----
  answer a2 accepted: 
    second Processed, attempt 1, round 1, decided 7 by shop
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"second":{"value":7,"by":"shop","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30
