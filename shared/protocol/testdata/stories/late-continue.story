# P58: a step that is late is withdrawn, and its late done is only a fact. What comes after sees that it failed.
step a deadline=20s grade=idempotent
step b after=a when-failed=a

event submit
----
  Processing
    a Processing, attempt 1, late at 12:00:20, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

wait 21s
sweep
----
12:00:21
supervisor: StepLate{"Step":"a","Run":0,"Seq":1}
    a Processing, attempt 1, withdrawn: late, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:21, late: the deadline of the step has passed
  due 12:00:30

event done a/1
----
    a UndoWait, attempt 1, withdrawn: late, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30

wait 1m
event wake a/1
----
12:01:21
    a Compensating, attempt 2, withdrawn: late, locked by scheduler-1, complete by 12:01:51
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:51 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
    a Compensated, attempt 2, withdrawn: late
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:51
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:51 {"order":{"n":1}}
  due 12:00:30

event done b/1
----
  Processed
    b Processed, attempt 1
  -> shop: completed, number 1, 
       a Compensated, attempt 2
       b Processed, attempt 1
  reported
  at rest
