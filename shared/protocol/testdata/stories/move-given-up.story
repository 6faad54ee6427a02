# P42, P49: a step that failed without a claim is decided, so it stays; its input may be another one, since no key was
# used.
step a continue input=fails
step b after=a stop

event submit
----
  Processing
    a Compensated, failed for good: expression
      error of attempt 0 at 12:00:00, expression: input: no such field
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Compensated, attempt 0
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step a input=fails
to step b after=a stop
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step a: its onFailure changed from "continue" to "undo"
  attention 12:00:00

to step b stop
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step a: it is removed, and was given up without a claim
  attention 12:00:00

to step new
to step a continue after=new
to step b after=a stop
event move m3
----
  move m3 refused: the order cannot go on with the new definition: step a: it was begun, and comes after new now, which was not
  attention 12:00:00

to step a continue template=other
to step b after=a stop
event move m4
----
  move m4 accepted: 
  attention 12:00:00
