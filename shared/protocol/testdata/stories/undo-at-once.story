# Cancelled while one is at work: a fence stops it at once; without one it is waited for.
step a grade=idempotent
step b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt b/1 ended: superseded
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# b answers late: its undo covers it.
event done b/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30

event undone b/2
----
    b Compensated, attempt 2
  due 12:00:30

wait 10s
event done a/1
----
12:00:10
    a UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30

wait 21001ms
event wake a/1
----
12:00:31.001
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:01:01.001
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:01.001 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Cancelled, because of cancel
    a Compensated, attempt 2
  -> shop: cancelled, number 1, 
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest
