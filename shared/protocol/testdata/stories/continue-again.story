# An undone order that begins again: what failed before did not fail in this run.
step fedex continue
step dhl after=fedex when-failed=fedex
step bill after=fedex

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
    bill Pending
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
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
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed dhl/1
----
  Compensating, because of failure
    dhl Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    bill Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt dhl/1 ended: failed refused
    attempt bill/1 ended: superseded
  -> bill-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone bill/2
----
    dhl Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
    bill Compensated, attempt 2
  -> dhl-agent: undo-dhl (undo/2), key o1/0/dhl, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone dhl/2
----
  Compensated, because of failure
    dhl Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, dhl refused the service refused
       fedex Compensated, attempt 2
       dhl Compensated, attempt 2
       bill Compensated, attempt 2
  reported
  at rest

event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    fedex Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    dhl Pending, attempt 2
    bill Pending, attempt 2
  -> fedex-agent: do-fedex (do/3), key o1/1/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later fedex/3 run=1
----
    fedex Pending, attempt 3, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 3 at 12:00:00, http-503: the service is not well
    attempt fedex/3 ended: retry-later http-503
  -> scheduler: wake fedex/3, at 12:00:01
  due 12:00:06

wait 5s
event wake fedex/3
----
12:00:05
    fedex Processing, attempt 4, 1 failed, locked by scheduler-1, complete by 12:00:35
  -> fedex-agent: do-fedex (do/4), key o1/1/fedex, stop by 12:00:35 {"order":{"n":1}}
  due 12:00:06

# It failed once and was done after it, which is no failure of the step.
event done fedex/4 run=1
----
    fedex Processed, attempt 4, 1 failed
    dhl Skipped, attempt 2
    bill Processing, attempt 3, locked by scheduler-1, complete by 12:00:35
  -> bill-agent: do-bill (do/3), key o1/1/bill, stop by 12:00:35 {"order":{"n":1},"seen":{"fedex":{"of":"fedex"}}}
  due 12:00:06
