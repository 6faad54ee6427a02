# P49, P1: a moved task keeps its finished steps, in the sequence of the new definition. Attempts continue if the name of
# a step returns.
step a
step b after=a stop
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

event done b/1
----
    b Processed, attempt 1
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30

event failed c/1
----
  Compensating, because of failure
    c Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt c/1 ended: failed refused
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30

event undone c/2
----
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    c Compensated, attempt 2, 1 failed
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    b Compensated, attempt 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, c refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 2
       c Compensated, attempt 2
  reported
  at rest

event resubmit r
----
  resubmit r accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    b Pending, attempt 2
    c Pending, attempt 2
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/3 run=1
----
    a Processed, attempt 3
    b Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/3), key o1/1/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/3 run=1
----
  Error (forward), run 1
    b Failed, attempt 3, 1 failed
      error of attempt 3 at 12:00:00, refused: the service refused
    attempt b/3 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 3
       b Failed, attempt 3
       c Pending, attempt 2
  -> operator: forward of step "b", refused: the service refused (answer to command 1; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a
to step b after=a stop
event move m1
----
  move m1 accepted: 
  attention 12:00:00

to step c after=b
to step a
to step b after=a stop
event resubmit m2
----
  resubmit m2 accepted: 
  Processing, run 1
    c Pending, attempt 2
    a Processed, attempt 3
    b Processing, attempt 4, locked by scheduler-1, complete by 12:00:30
      error of attempt 3 at 12:00:00, refused: the service refused
  -> b-agent: do-b (do/4), key o1/1/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done b/4
----
    c Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    b Processed, attempt 4
  -> c-agent: do-c (do/3), key o1/1/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30
