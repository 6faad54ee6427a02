# The order's deadline passes with one step at work, one handed back and one done (P23a).
workflow deadline=20s on-deadline=undo
step a
step b
step c grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event done a/1
----
    a Processed, attempt 1
  due 12:00:20

wait 19s
event later b/1
----
12:00:19
    b Pending, attempt 1, 1 failed, waits until 12:00:20, complete by 12:00:25
      error of attempt 1 at 12:00:19, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:20
  due 12:00:20

wait 1s
sweep
----
12:00:20
supervisor: DeadlinePassed{"Run":0}
  Compensating, because of deadline
  due 12:00:25

# The wait of b bound its next attempt only, not its undo. c is the latest, and at work still.
wait 10s
sweep
----
12:00:30
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Pending, attempt 1, 1 failed, waits until 12:00:20, complete by 12:00:35
  -> scheduler: wake b/1, now
supervisor: Overdue{"Step":"c","Attempt":1,"Queue":0}
    c UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt c/1 ended: overdue timeout
  -> scheduler: wake c/1, at 12:00:31.001
  due 12:00:35

wait 1001ms
event wake c/1
----
12:00:31.001
    c Compensating, attempt 2, locked by scheduler-1, complete by 12:01:01.001
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:35

event undone c/2
----
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:01.001
    c Compensated, attempt 2
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:35

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:01:01.001
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:01.001 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:35

event undone a/2
----
  Compensated, because of deadline
    a Compensated, attempt 2
  -> shop: undone, number 1, deadline the deadline of the order has passed
       a Compensated, attempt 2
       b Compensated, attempt 2
       c Compensated, attempt 2
  reported
  at rest

# Started again, it has a deadline only if the operator gives one.
event resubmit r1 deadline=40s
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:01:01.001
    b Processing, attempt 3, locked by scheduler-1, complete by 12:01:01.001
    c Processing, attempt 3, locked by scheduler-1, complete by 12:01:01.001
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:01:01.001 {"order":{"n":1}}
  -> b-agent: do-b (do/3), key o1/1/b, stop by 12:01:01.001 {"order":{"n":1}}
  -> c-agent: do-c (do/3), key o1/1/c, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:01:01.001
