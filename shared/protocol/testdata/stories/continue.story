# onFailure: continue (P42): the step alone is undone, the order goes on, and what comes after it sees that it failed.
workflow reports
step fedex continue
step dhl after=fedex when-failed=fedex
step bill after=fedex

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
    bill Pending
  -> shop: started, number 1, 
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed fedex/1
----
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# The same reply again asks for the undo again, byte for byte (P12). A done that comes late changes nothing any more.
event failed fedex/1
----
  ignored: it belongs to an earlier attempt
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done fedex/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30

event undo-later fedex/2
----
    fedex UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: refused, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, http-503: the service is not well
    attempt fedex/2 ended: retry-later http-503
  -> scheduler: wake fedex/2, at 12:00:02
  due 12:00:07

# Too early it changes nothing.
event wake fedex/2
----
  ignored: its wait is not over
  due 12:00:07

wait 2s
event wake fedex/2
----
12:00:02
    fedex Compensating, attempt 3, 1 failed, 1 undos failed, failed for good: refused, locked by scheduler-1, complete by 12:00:32
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:00:32 {"order":{"n":1}}
  due 12:00:07

# Only when it is undone, what comes after it begins.
event undone fedex/3
----
    fedex Compensated, attempt 3, 1 failed, 1 undos failed, failed for good: refused
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:00:32
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:32
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:32 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:32 {"order":{"n":1}}
  due 12:00:07

event undone fedex/3
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:32 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:32 {"order":{"n":1}}
  due 12:00:07

event done dhl/1
----
    dhl Processed, attempt 1
  -> shop: step-finished, number 2, dhl   {"of":"dhl"}
  due 12:00:07

event done bill/1
----
  Processed
    bill Processed, attempt 1
  -> shop: step-finished, number 3, bill   {"of":"bill"}
  -> shop: completed, number 4, 
       fedex Compensated, attempt 3
       dhl Processed, attempt 1
       bill Processed, attempt 1
  reported
  at rest
