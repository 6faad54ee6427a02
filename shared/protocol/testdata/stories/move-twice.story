# P49, P12a: the same Move a second time gets the same verdict and changes nothing; one with an old number is refused.
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

to step a
to step b after=a stop
to step c after=b
event move m
----
  move m accepted: 
  attention 12:00:00

event move m
----
  ignored: this command already has a verdict
  move m accepted: 
  attention 12:00:00

event move other command=0
----
  move other refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00
