# An undo that is in flight when another step stops the order: its reply is recorded, and starts nothing.
step fedex continue
step bill stop
step post continue
step dhl after=fedex when-failed=fedex

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    post Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  -> post-agent: do-post (do/1), key o1/0/post, stop by 12:00:30 {"order":{"n":1}}
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
    post Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt post/1 ended: failed refused
  -> post-agent: undo-post (undo/2), key o1/0/post, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed bill/1
----
  Error (forward)
    bill Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt bill/1 ended: failed refused
  -> shop: failed, number 1, bill refused the service refused
       fedex Compensating, attempt 2
       bill Failed, attempt 1
       post Compensating, attempt 2
       dhl Pending, attempt 0
  -> operator: forward of step "bill", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

event undo-failed post/2
----
    post UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: refused
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt post/2 ended: failed refused
  due 12:00:30

event undone fedex/2
----
    fedex Compensated, attempt 2, 1 failed, failed for good: refused
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    fedex Compensated, attempt 2, failed for good: refused
    bill Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    post Compensating, attempt 3, failed for good: refused, locked by scheduler-1, complete by 12:00:30
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> post-agent: undo-post (undo/3), key o1/0/post, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/2), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone post/3
----
    post Compensated, attempt 3, failed for good: refused
  due 12:00:30
