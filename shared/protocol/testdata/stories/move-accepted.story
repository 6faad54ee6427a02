# P49: a move may change what the finished part does not depend on, and all of a step that was not begun.
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

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a timeout=20s
to step b after=a stop
to step c after=b
event move m1
----
  move m1 accepted: 
  attention 12:00:00

to step a undo-input=other
to step b after=a stop
to step c after=b
event move m2
----
  move m2 accepted: 
  attention 12:00:00

to step a
to step b after=a stop
to step c after=b operation=other template=other
event move m3
----
  move m3 accepted: 
  attention 12:00:00

to step a
to step b after=a stop
to step c after=b
to step new after=c
event move m4
----
  move m4 accepted: 
    new Pending
  attention 12:00:00

to step a
to step b after=a stop
event move m5
----
  move m5 accepted: 
  attention 12:00:00
