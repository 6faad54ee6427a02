# P51, P49: a Move keeps the new input, unless the new definition has another input for the step.
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

wait 1h
event resolve f b not-happened
----
13:00:00
  resolve f accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event resubmit r step=b input={"amount":12}
----
  resubmit r accepted: with another input for b
  Processing
    b Processing, attempt 2, input of command 2, locked by scheduler-1, complete by 13:00:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30, resolved: not-happened {"amount":12}
  due 13:00:30

event failed b/2
----
  Error (forward)
    b Failed, attempt 2, 1 failed, input of command 2
      error of attempt 2 at 13:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 2
       c Pending, attempt 0
  -> operator: forward of step "b", refused: the service refused (answer to command 2; resubmit; undo; resolve from 13:00:31.001)
  reported
  attention 13:00:00

to step a
to step b after=a stop
to step c after=b
event move m1
----
  move m1 accepted: 
  attention 13:00:00

to step a
to step b after=a stop template=new
to step c after=b
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step b: its input changed from "template" to "new"; if its service shows that it did not happen, resolve it as not-happened first
  attention 13:00:00

to step a
to step b after=a stop timeout=20s
to step c after=b
event move m3
----
  move m3 accepted: 
  attention 13:00:00

wait 1h
event resolve g b not-happened
----
14:00:00
  resolve g accepted: 
    b Failed, attempt 2, 1 failed, without effect, input of command 2
  attention 13:00:00

to step a
to step b after=a stop operation=other
to step c after=b
event move m4
----
  move m4 refused: the order cannot go on with the new definition: step b: its operation changed from "do-b" to "other"
  attention 13:00:00

to step a
to step b after=a stop template=new
to step c after=b
event move m5
----
  move m5 accepted: 
    b Failed, attempt 2, 1 failed, without effect
  attention 13:00:00
