# There is nothing to undo: it is Compensated at once, by the Supervisor with the Wake.
step hint continue no-undo
step hunch continue no-undo failures=1
step ship after=hint,hunch

event submit
----
  Processing
    hint Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    hunch Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> hint-agent: do-hint (do/1), key o1/0/hint, stop by 12:00:30 {"order":{"n":1}}
  -> hunch-agent: do-hunch (do/1), key o1/0/hunch, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed hint/1
----
    hint Compensated, attempt 1, 1 failed, failed for good: refused
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt hint/1 ended: failed refused
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"hunch","Attempt":1,"Queue":0}
    hunch UndoWait, attempt 1, 1 failed, failed for good: timeout, complete by 12:00:36
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt hunch/1 ended: overdue timeout
  -> scheduler: wake hunch/1, now
  due 12:00:36

event wake hunch/1
----
    hunch Compensated, attempt 1, 1 failed, failed for good: timeout
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:01:01
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:01:01 {"order":{"n":1}}
  due 12:00:36

event done ship/1
----
  Processed
    ship Processed, attempt 1
  -> shop: completed, number 1, 
       hint Compensated, attempt 1
       hunch Compensated, attempt 1
       ship Processed, attempt 1
  reported
  at rest
