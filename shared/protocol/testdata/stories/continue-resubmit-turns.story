# A Resubmit resumes an undo that was begun alone, and the order turns to its undo in the same decision: the order of undos
# does not bind what began while the order went forward (P42), and the general rule goes on with the others.
step fedex undo-failures=1 continue
step bill
step approve answers=yes,no timeout=10m

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 12:10:00
  due 12:00:30

event done bill/1
----
    bill Processed, attempt 1
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
  Error (forward)
    fedex UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: refused
      error of attempt 2 at 12:00:00, refused: the service refused
    approve Waiting, attempt 1, round 1, waits until 12:10:00
    attempt fedex/2 ended: failed refused
  -> shop: failed, number 1, fedex refused the service refused
       fedex UndoWait, attempt 2
       bill Processed, attempt 1
       approve Waiting, attempt 1
  -> operator: forward of step "fedex", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 11m
event resubmit r1
----
12:11:00
  resubmit r1 accepted: 
  Compensating, because of failure
    fedex Compensating, attempt 3, failed for good: refused, locked by scheduler-1, complete by 12:11:30
    bill Compensating, attempt 2, locked by scheduler-1, complete by 12:11:30
    approve Compensated, attempt 1, round 1, decided null by timeout
      error of attempt 1 at 12:11:00, answer-timeout: no answer came in time
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:11:30 {"order":{"n":1}}
  -> bill-agent: undo-bill (undo/2), key o1/0/bill, stop by 12:11:30 {"order":{"n":1},"seen":{"bill":{"of":"bill"}}}
  due 12:11:30

event undone fedex/3
----
    fedex Compensated, attempt 3, failed for good: refused
  due 12:11:30

event undone bill/2
----
  Compensated, because of failure
    bill Compensated, attempt 2
  -> shop: undone, number 2, approve answer-timeout no answer came in time
       fedex Compensated, attempt 3
       bill Compensated, attempt 2
       approve Compensated, attempt 1
  reported
  at rest
