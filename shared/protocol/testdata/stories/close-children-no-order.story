# P48, P11: the cancel of a child whose order can no longer be computed goes without it, and the end is settled.
step a each=x,y
step b stop

event submit reply-to=
----
  Processing
    a Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~a~0/1: start {"item":"x","index":0}
  -> o1~a~1/1: start {"item":"y","index":1}
  -> scheduler: wake a/1, at 12:10:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    a Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a each=none
to step b stop
event move m
----
  move m accepted: 
  attention 12:00:00

wait 1m
event close c1 absent=o1~a~0,o1~a~1
----
12:01:00
  close c1 accepted: 
  Closed
  -> o1~a~0/1: cancel 
  -> o1~a~1/1: cancel 
  reported
  at rest
