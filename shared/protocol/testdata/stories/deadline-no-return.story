# P23a. Broken by: the deadline undoes past a point of no return.
workflow on-deadline=undo
step a
step b after=a no-return

event submit deadline=1m
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

wait 1m
event deadline
----
12:01:00
  Error (forward)
  -> scheduler: settle
  due 12:00:30
