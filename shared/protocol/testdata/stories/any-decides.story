# P54: the first member decides; the steps after it begin while the others are undone alone, each by its grade (P53).
workflow reports
step a
step decided-clerk answers=yes,no continue after=a
step decided-work after=a continue
step decided-slow after=a continue grade=idempotent
step decided-gone wait=1h continue after=a
step decided any=clerk,work,slow,gone after=a
step c after=decided

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-clerk Pending
    decided-work Pending
    decided-slow Pending
    decided-gone Pending
    decided Pending
    c Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    decided-clerk Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    decided-work Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-slow Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-gone Waiting, attempt 1, waits until 13:00:00, complete by 13:00:00
    decided Waiting, attempt 1
  -> shop: step-finished, number 2, a   {"of":"a"}
  -> scheduler: wake decided-clerk/1, at 13:00:00
  -> decided-work-agent: do-decided-work (do/1), key o1/0/decided-work, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> decided-slow-agent: do-decided-slow (do/1), key o1/0/decided-slow, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> scheduler: wake decided-gone/1, at 13:00:00
  due 12:00:30

event answer decided-clerk/1 yes by=ann
----
  answer a1 accepted: 
    decided-clerk Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
    decided-work Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-slow Processing, attempt 1, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-gone Compensated, attempt 1, withdrawn: overtaken
    decided Settling, attempt 1, won: clerk
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt decided-work/1 ended: superseded
  -> shop: step-finished, number 3, decided-clerk   {"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}
  -> shop: step-finished, number 4, decided   {"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}
  -> decided-work-agent: undo-decided-work (undo/2), key o1/0/decided-work, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"decided":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"},"decided-clerk":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event answer decided-clerk/1 yes by=ann id=a1 again
----
  ignored: this command already has a verdict
  answer a1 accepted: 
  -> shop: step-finished, number 3, decided-clerk   {"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}
  -> shop: step-finished, number 4, decided   {"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}
  -> decided-work-agent: undo-decided-work (undo/2), key o1/0/decided-work, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"decided":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"},"decided-clerk":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

# A copy of the done of the one that was asked is only a fact: there is something to undo.
event done decided-slow/1
----
    decided-slow UndoWait, attempt 1, withdrawn: overtaken, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake decided-slow/1, at 12:00:31.001
  -> shop: undoing, number 0, decided-slow, until 12:00:31.001
  due 12:00:30

event undone decided-work/2
----
    decided-work Compensated, attempt 2, withdrawn: overtaken
  due 12:00:30

event done decided-work/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30

wait 1m
event wake decided-slow/1
----
12:01:00
    decided-slow Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:01:30
  -> decided-slow-agent: undo-decided-slow (undo/2), key o1/0/decided-slow, stop by 12:01:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done c/1
----
    c Processed, attempt 1
  -> shop: step-finished, number 5, c   {"of":"c"}
  due 12:00:30

event undone decided-slow/2
----
  Processed
    decided-slow Compensated, attempt 2, withdrawn: overtaken
    decided Processed, attempt 1, won: clerk
  -> shop: completed, number 6, 
       a Processed, attempt 1
       decided-clerk Processed, attempt 1
       decided-work Compensated, attempt 2
       decided-slow Compensated, attempt 2
       decided-gone Compensated, attempt 1
       decided Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
