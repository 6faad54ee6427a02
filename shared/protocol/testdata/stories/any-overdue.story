# P54: a member that the Supervisor gives up is undone alone; the Scheduler claims the undo. With none left the policy applies.
step decided-one continue failures=1
step decided-two continue failures=1 no-undo
step decided any=one,two stop

event submit
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"decided-one","Attempt":1,"Queue":0}
    decided-one UndoWait, attempt 1, 1 failed, failed for good: timeout, complete by 12:00:36
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt decided-one/1 ended: overdue timeout
  -> scheduler: wake decided-one/1, now
supervisor: Overdue{"Step":"decided-two","Attempt":1,"Queue":0}
  Error (forward)
    decided-one UndoWait, attempt 1, 1 failed, failed for good: timeout
    decided-two UndoWait, attempt 1, 1 failed, failed for good: timeout
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    decided Failed, attempt 1
      error of attempt 1 at 12:00:31, none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of two, timeout: no reply by the complete-by time
    attempt decided-two/1 ended: overdue timeout
  -> scheduler: wake decided-two/1, now
  -> scheduler: settle
  due 12:01:31

event wake decided-one/1
----
  ignored: a task in Error waits for the operator
  -> shop: failed, number 1, decided none-left 0 of its members can still end well, and it needs 1; the last failure that is known is of two, timeout: no reply by the complete-by time
       decided-one UndoWait, attempt 1
       decided-two UndoWait, attempt 1
       decided Failed, attempt 1
  -> operator: forward of step "decided", none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of two, timeout: no reply by the complete-by time (answer to command 0; resubmit; undo)
  reported
  attention 12:00:31
