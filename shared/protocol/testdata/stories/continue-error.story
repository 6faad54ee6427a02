# An undo that fails too often stops the order in its own direction, forward; Resubmit resumes it with counters renewed.
step fedex undo-failures=2 continue
step dhl after=fedex when-failed=fedex
step bill

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed fedex/1
----
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-failed fedex/2
----
    fedex UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: refused, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt fedex/2 ended: failed refused
  -> scheduler: wake fedex/2, at 12:00:02
  due 12:00:07

wait 5s
event wake fedex/2
----
12:00:05
    fedex Compensating, attempt 3, 1 failed, 1 undos failed, failed for good: refused, locked by scheduler-1, complete by 12:00:35
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:00:35 {"order":{"n":1}}
  due 12:00:07

event undo-failed fedex/3
----
  Error (forward)
    fedex UndoWait, attempt 3, 1 failed, 2 undos failed, failed for good: refused
      error of attempt 3 at 12:00:05, refused: the service refused
    attempt fedex/3 ended: failed refused
  -> shop: failed, number 1, fedex refused the service refused
       fedex UndoWait, attempt 3
       dhl Pending, attempt 0
       bill Processing, attempt 1
  -> operator: forward of step "fedex", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:36.001)
  reported
  due 12:00:07

# What is in flight is recorded, nothing more.
event done bill/1
----
    bill Processed, attempt 1
  attention 12:00:05

# What is stated of a step that waits for its undo: it happened, so its undo is needed.
wait 40s
event resolve r0 fedex happened
----
12:00:45
  resolve r0 accepted: 
  attention 12:00:05

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    fedex Compensating, attempt 4, failed for good: refused, locked by scheduler-1, complete by 12:01:15
  -> fedex-agent: undo-fedex (undo/4), key o1/0/fedex, stop by 12:01:15, resolved: happened {"order":{"n":1}}
  due 12:01:15

event undo-failed fedex/4
----
    fedex UndoWait, attempt 4, 1 undos failed, failed for good: refused, waits until 12:00:47, complete by 12:00:52
      error of attempt 4 at 12:00:45, refused: the service refused
    attempt fedex/4 ended: failed refused
  -> scheduler: wake fedex/4, at 12:00:47
  due 12:00:52

wait 5s
event wake fedex/4
----
12:00:50
    fedex Compensating, attempt 5, 1 undos failed, failed for good: refused, locked by scheduler-1, complete by 12:01:20
  -> fedex-agent: undo-fedex (undo/5), key o1/0/fedex, stop by 12:01:20, resolved: happened {"order":{"n":1}}
  due 12:00:52

event undo-failed fedex/5
----
  Error (forward)
    fedex UndoWait, attempt 5, 2 undos failed, failed for good: refused
      error of attempt 5 at 12:00:50, refused: the service refused
    attempt fedex/5 ended: failed refused
  -> shop: failed, number 2, fedex refused the service refused
       fedex UndoWait, attempt 5
       dhl Pending, attempt 0
       bill Processed, attempt 1
  -> operator: forward of step "fedex", refused: the service refused (answer to command 2; resubmit; undo; resolve from 12:01:21.001)
  reported
  attention 12:00:50

wait 40s
event resolve r2 fedex undone
----
12:01:30
  resolve r2 accepted: 
    fedex Compensated, attempt 5, 2 undos failed, failed for good: refused
  attention 12:00:50

event resubmit r3
----
  resubmit r3 accepted: 
  Processing
    fedex Compensated, attempt 5, failed for good: refused
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:02:00
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:02:00 {"order":{"n":1}}
  due 12:02:00
