# H1. Undo has an attempt of its own. Broken by: take does not raise Attempt.
step a grade=idempotent

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
  due 12:00:30

event done a/1
----
    a UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30

wait 1m
event wake a/1
----
12:01:00
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:01:30
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30

event undone a/1
----
  ignored: it belongs to an earlier attempt
  due 12:00:30

event done a/2
----
  ignored: that attempt was of the other operation
  due 12:00:30

event undone a/2
----
  Cancelled, because of cancel
    a Compensated, attempt 2
  -> shop: cancelled, number 1, 
       a Compensated, attempt 2
  reported
  at rest
