# Where the order turns to its undo, the general rule takes over, and nothing is asked twice.
step fedex continue
step post grade=idempotent continue
step late after=fedex
step bill

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    post Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    late Pending
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> post-agent: do-post (do/1), key o1/0/post, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed fedex/1
----
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed post/1
----
    post UndoWait, attempt 1, 1 failed, failed for good: refused, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt post/1 ended: failed refused
  -> scheduler: wake post/1, at 12:00:31.001
  due 12:00:30

event failed bill/1
----
  Compensating, because of failure
    bill Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt bill/1 ended: failed refused
  -> bill-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone bill/2
----
    bill Compensated, attempt 2, 1 failed
  due 12:00:30

# The wait of post goes on; fedex was asked before.
event undone fedex/2
----
    fedex Compensated, attempt 2, 1 failed, failed for good: refused
  due 12:00:30

wait 31001ms
event wake post/1
----
12:00:31.001
    post Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:01:01.001
  -> post-agent: undo-post (undo/2), key o1/0/post, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:30

event undone post/2
----
  Compensated, because of failure
    post Compensated, attempt 2, 1 failed, failed for good: refused
  -> shop: undone, number 1, bill refused the service refused
       fedex Compensated, attempt 2
       post Compensated, attempt 2
       late Pending, attempt 0
       bill Compensated, attempt 2
  reported
  at rest
