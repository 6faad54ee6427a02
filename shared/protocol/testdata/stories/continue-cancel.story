# A cancel while the undo alone has failed and waits, and a step that was undone alone stays undone.
step fedex continue
step post continue
step bill

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    post Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
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

event undone fedex/2
----
    fedex Compensated, attempt 2, 1 failed, failed for good: refused
  due 12:00:30

event failed post/1
----
    post Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt post/1 ended: failed refused
  -> post-agent: undo-post (undo/2), key o1/0/post, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-failed post/2
----
    post UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: refused, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt post/2 ended: failed refused
  -> scheduler: wake post/2, at 12:00:02
  due 12:00:07

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    bill Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt bill/1 ended: superseded
  -> bill-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:07

event undone bill/2
----
    bill Compensated, attempt 2
  due 12:00:07

wait 5s
event wake post/2
----
12:00:05
    post Compensating, attempt 3, 1 failed, 1 undos failed, failed for good: refused, locked by scheduler-1, complete by 12:00:35
  -> post-agent: undo-post (undo/3), key o1/0/post, stop by 12:00:35 {"order":{"n":1}}
  due 12:00:07

event undone post/3
----
  Cancelled, because of cancel
    post Compensated, attempt 3, 1 failed, 1 undos failed, failed for good: refused
  -> shop: cancelled, number 1, 
       fedex Compensated, attempt 2
       post Compensated, attempt 3
       bill Compensated, attempt 2
  reported
  at rest
