# An undo that waits in a queue that is too long is handed back uncounted; past maxQueueTime the order stops forward.
step fedex continue queue=40s
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

wait 31s
sweep backlog=fedex
----
12:00:31
supervisor: Overdue{"Step":"fedex","Attempt":2,"Queue":1}
    fedex UndoWait, attempt 2, 1 failed, failed for good: refused, waits until 12:00:31, complete by 12:00:36
    attempt fedex/2 ended: overdue queue
  -> scheduler: wake fedex/2, at 12:00:31
supervisor: Overdue{"Step":"bill","Attempt":1,"Queue":0}
    bill Pending, attempt 1, 1 failed, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt bill/1 ended: overdue timeout
  -> scheduler: wake bill/1, at 12:00:32
  due 12:00:36

event wake fedex/2
----
    fedex Compensating, attempt 3, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:01:01
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:01:01 {"order":{"n":1}}
  due 12:00:36

wait 62s
sweep backlog=fedex
----
12:01:33
supervisor: Overdue{"Step":"fedex","Attempt":3,"Queue":1}
  Error (forward)
    fedex UndoWait, attempt 3, 1 failed, failed for good: refused
      error of attempt 3 at 12:01:33, queue: its request has waited for agent fedex-agent for longer than maxQueueTime, 40s; see that the agent runs and keeps up, then resubmit
    bill Pending, attempt 1, 1 failed
    attempt fedex/3 ended: overdue queue
  -> scheduler: settle
supervisor: Overdue{"Step":"bill","Attempt":1,"Queue":0}
  ignored: a task in Error waits for the operator
  -> scheduler: settle
  due 12:02:33
