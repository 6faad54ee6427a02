# P54: with onFailure: continue the winners so far are undone too, and the order goes on.
step decided-one continue
step decided-two continue
step decided any=one,two enough=2 continue
step c after=decided when-failed=decided

event submit
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
    c Pending
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done decided-one/1
----
    decided-one Processed, attempt 1
    decided Waiting, attempt 1, won: one
  due 12:00:30

event failed decided-two/1
----
    decided-one Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-two Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    decided Compensated, attempt 1, failed for good: none-left
      error of attempt 1 at 12:00:00, none-left: 1 of its members can still end well, and it needs 2; the last failure that is known is of two, refused: the service refused
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt decided-two/1 ended: failed refused
  -> decided-two-agent: undo-decided-two (undo/2), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  -> decided-one-agent: undo-decided-one (undo/2), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1},"seen":{"decided-one":{"of":"decided-one"}}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone decided-two/2
----
    decided-two Compensated, attempt 2, 1 failed, failed for good: refused
  due 12:00:30

event done c/1
----
    c Processed, attempt 1
  due 12:00:30

event undone decided-one/2
----
  Processed
    decided-one Compensated, attempt 2, withdrawn: overtaken
  -> shop: completed, number 1, 
       decided-one Compensated, attempt 2
       decided-two Compensated, attempt 2
       decided Compensated, attempt 1
       c Processed, attempt 1
  reported
  at rest
