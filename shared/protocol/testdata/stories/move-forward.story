# P49: a task that goes forward continues with the new definition at once.
step a
step b after=a
step c after=b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event later b/1
----
    b Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:01
  due 12:00:06

to step a
to step b after=a
to step d after=a
event move m
----
  move m accepted: 
    d Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> d-agent: do-d (do/1), key o1/0/d, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:06
