# The deadline turns the order around while an undo alone waits.
workflow deadline=20s on-deadline=undo
step fedex grade=idempotent continue
step bill

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event failed fedex/1
----
    fedex UndoWait, attempt 1, 1 failed, failed for good: refused, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> scheduler: wake fedex/1, at 12:00:31.001
  due 12:00:20

wait 21s
sweep
----
12:00:21
supervisor: DeadlinePassed{"Run":0}
  Compensating, because of deadline
    bill UndoWait, attempt 1, complete by 12:00:26
    attempt bill/1 ended: superseded
  -> scheduler: wake bill/1, now
  due 12:00:26

event wake bill/1
----
    bill Compensating, attempt 2, locked by scheduler-1, complete by 12:00:51
  -> bill-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:00:51 {"order":{"n":1}}
  due 12:00:26

event undone bill/2
----
    bill Compensated, attempt 2
  due 12:00:26

wait 20s
event wake fedex/1
----
12:00:41
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:01:11
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:01:11 {"order":{"n":1}}
  due 12:00:26

event undone fedex/2
----
  Compensated, because of deadline
    fedex Compensated, attempt 2, 1 failed, failed for good: refused
  -> shop: undone, number 1, deadline the deadline of the order has passed
       fedex Compensated, attempt 2
       bill Compensated, attempt 2
  reported
  at rest
