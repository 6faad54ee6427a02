# P58: the Supervisor leaves the undo of a late step to the Scheduler.
step a deadline=20s
step b after=a

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
    a UndoWait, attempt 1, withdrawn: late, complete by 12:00:26
      error of attempt 1 at 12:00:21, late: the deadline of the step has passed
    attempt a/1 ended: superseded
  -> scheduler: wake a/1, now
  due 12:00:26

event wake a/1
----
    a Compensating, attempt 2, withdrawn: late, locked by scheduler-1, complete by 12:00:51
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:51 {"order":{"n":1}}
  due 12:00:26

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:26

event undone a/2
----
    a Compensated, attempt 2, withdrawn: late
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:51
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:51 {"order":{"n":1}}
  due 12:00:26
