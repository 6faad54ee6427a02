# P58: with undo the order is undone; a done that comes before the deadline wins.
step a deadline=20s on-deadline=undo
step b after=a deadline=20s on-deadline=undo

event submit
----
  Processing
    a Processing, attempt 1, late at 12:00:20, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, late at 12:00:20, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:20

wait 21s
sweep
----
12:00:21
supervisor: StepLate{"Step":"b","Run":0,"Seq":1}
  Compensating, because of failure
    b UndoWait, attempt 1, complete by 12:00:26
      error of attempt 1 at 12:00:21, late: the deadline of the step has passed
    attempt b/1 ended: superseded
  -> scheduler: wake b/1, now
  due 12:00:26

event wake b/1
----
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:51
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:51 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:26

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:51
    b Compensated, attempt 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:51 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:26

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, b late the deadline of the step has passed
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest
