# P49: the finished part of an order must be the same in the new definition. Each refusal names the difference.
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

to step a agent=c-agent
to step b after=a stop
to step c after=b
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step a: its agent changed from "a-agent" to "c-agent"
  attention 12:00:00

to step a operation=other
to step b after=a stop
to step c after=b
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step a: its operation changed from "do-a" to "other"
  attention 12:00:00

to step a
to step b after=a stop template=other
to step c after=b
event move m3
----
  move m3 refused: the order cannot go on with the new definition: step b: its input changed from "template" to "other"; if its service shows that it did not happen, resolve it as not-happened first
  attention 12:00:00

to step a no-undo
to step b after=a stop
to step c after=b
event move m4
----
  move m4 refused: the order cannot go on with the new definition: step a: its undo changed from given to none
  attention 12:00:00

to step a grade=plain
to step b after=a stop
to step c after=b
event move m5
----
  move m5 refused: the order cannot go on with the new definition: step a: its grade changed from "fenced" to "plain"
  attention 12:00:00

to step a
to step b after=a
to step c after=b
event move m6
----
  move m6 refused: the order cannot go on with the new definition: step b: its onFailure changed from "stop" to "undo"
  attention 12:00:00

to step a
to step b after=a no-return
to step c after=b
event move m7
----
  move m7 refused: the order cannot go on with the new definition: step b: its pointOfNoReturn changed from none to true; step b: its undo changed from given to none
  attention 12:00:00

to step a
to step c after=a
event move m8
----
  move m8 refused: the order cannot go on with the new definition: step b: it is removed, and was attempted
  attention 12:00:00

to step a after=new
to step b after=a stop
to step c after=b
to step new
event move m9
----
  move m9 refused: the order cannot go on with the new definition: step a: it was begun, and comes after new now, which was not
  attention 12:00:00
