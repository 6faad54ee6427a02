# An undo whose input fails stops the order forward: a retry would fail in the same way.
step fedex continue undo-input=fails
step bill

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> bill-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed fedex/1
----
  Error (forward)
    fedex UndoWait, attempt 1, 1 failed, failed for good: refused
      error of attempt 0 at 12:00:00, expression: undo input: no such field
    attempt fedex/1 ended: failed refused
  -> shop: failed, number 1, fedex expression undo input: no such field
       fedex UndoWait, attempt 1
       bill Processing, attempt 1
  -> operator: forward of step "fedex", expression: undo input: no such field (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

wait 40s
event resolve r1 fedex not-happened
----
12:00:40
  resolve r1 accepted: 
    fedex Compensated, attempt 1, 1 failed, failed for good: refused
  due 12:00:30

event resubmit r2
----
  resubmit r2 accepted: 
  Processing
    fedex Compensated, attempt 1, failed for good: refused
  due 12:00:30

event done bill/1
----
  Processed
    bill Processed, attempt 1
  -> shop: completed, number 2, 
       fedex Compensated, attempt 1
       bill Processed, attempt 1
  reported
  at rest
