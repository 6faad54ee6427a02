# An undo whose agent makes no call is handed back uncounted; past maxQueueTime the order stops forward (P45).
step fedex continue queue=3s
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
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-not-now fedex/2
----
    fedex UndoWait, attempt 2, 1 failed, failed for good: refused, waits until 12:00:02.911, complete by 12:00:07.911
      error of attempt 2 at 12:00:00, unauthorized: no call was made, since 12:00:00
    attempt fedex/2 ended: retry-later unauthorized
  -> scheduler: wake fedex/2, at 12:00:02.911
  due 12:00:07.911

wait 5s
event wake fedex/2
----
12:00:05
    fedex Compensating, attempt 3, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:35
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:00:35 {"order":{"n":1}}
  due 12:00:07.911

event undo-not-now fedex/3
----
  Error (forward)
    fedex UndoWait, attempt 3, 1 failed, failed for good: refused
      error of attempt 3 at 12:00:05, unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made
    attempt fedex/3 ended: retry-later unauthorized
  -> shop: failed, number 1, fedex unauthorized the agent has not called its service for longer than maxQueueTime: no call was made
       fedex UndoWait, attempt 3
       bill Processing, attempt 1
  -> operator: forward of step "fedex", unauthorized: the agent has not called its service for longer than maxQueueTime: no call was made (answer to command 0; resubmit; undo; resolve from 12:00:36.001)
  reported
  due 12:00:07.911
