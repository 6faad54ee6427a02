# P16. The time of an undo is looked at again too.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event overdue a/2
----
  ignored: its time has not passed
  due 12:00:30
