# The Supervisor claims nothing: it leaves a time and wakes the Scheduler (P16). A Wake that is lost is sent again.
step fedex failures=1 continue
step dhl after=fedex when-failed=fedex

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"fedex","Attempt":1,"Queue":0}
    fedex UndoWait, attempt 1, 1 failed, failed for good: timeout, complete by 12:00:36
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt fedex/1 ended: overdue timeout
  -> scheduler: wake fedex/1, now
  due 12:00:36

# A reply of the do changes nothing any more.
event done fedex/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:36

event failed fedex/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:36

wait 31s
sweep
----
12:01:02
supervisor: Overdue{"Step":"fedex","Attempt":1,"Queue":0}
    fedex UndoWait, attempt 1, 1 failed, failed for good: timeout, complete by 12:01:07
  -> scheduler: wake fedex/1, now
  due 12:01:07

event wake fedex/1
----
    fedex Compensating, attempt 2, 1 failed, failed for good: timeout, locked by scheduler-1, complete by 12:01:32
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:01:32 {"order":{"n":1}}
  due 12:01:07

# Its undo is overdue as well.
wait 31s
sweep
----
12:01:33
supervisor: Overdue{"Step":"fedex","Attempt":2,"Queue":0}
    fedex UndoWait, attempt 2, 1 failed, 1 undos failed, failed for good: timeout, waits until 12:01:35, complete by 12:01:40
      error of attempt 2 at 12:01:33, timeout: no reply to the undo by the complete-by time
    attempt fedex/2 ended: overdue timeout
  -> scheduler: wake fedex/2, at 12:01:35
  due 12:01:40

wait 10s
event wake fedex/2
----
12:01:43
    fedex Compensating, attempt 3, 1 failed, 1 undos failed, failed for good: timeout, locked by scheduler-1, complete by 12:02:13
  -> fedex-agent: undo-fedex (undo/3), key o1/0/fedex, stop by 12:02:13 {"order":{"n":1}}
  due 12:01:40

event undone fedex/3
----
    fedex Compensated, attempt 3, 1 failed, 1 undos failed, failed for good: timeout
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:02:13
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:02:13 {"order":{"n":1}}
  due 12:01:40
