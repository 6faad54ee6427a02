# A Compensated order started again: run 1, new keys, attempts go on counting (P1, P2).
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

event resubmit r1
----
  resubmit r1 accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    b Pending, attempt 2
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# A duplicate from the first run, and a Cancel that meant it.
event done a/1 run=0
----
  ignored: it belongs to an earlier run
  due 12:00:30

event cancel c1 run=0
----
  cancel c1 refused: the order was resubmitted since; look at it and cancel the new run
  due 12:00:30

event done a/3
----
    a Processed, attempt 3
    b Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/3), key o1/1/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done b/3
----
  Processed, run 1
    b Processed, attempt 3
  -> shop: completed, number 2, 
       a Processed, attempt 3
       b Processed, attempt 3
  reported
  at rest
