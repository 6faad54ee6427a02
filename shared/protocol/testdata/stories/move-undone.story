# P49: the next run of a Compensated task is entirely new, and sees nothing of the old one.
step a
step b after=a

event submit
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
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, b refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest

to step a when=false operation=other
to step c after=a
event resubmit m
----
  resubmit m accepted: 
  Processing, run 1
    a Skipped, attempt 2
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/1/c, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
