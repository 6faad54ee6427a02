# What the operator states that a step returned is its output: later steps read it, and a late reply does not change
# it.
step a
step b after=a stop
step c after=b stop

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

event settle
----
  ignored: everything was reported before
  attention 12:00:00

wait 1h
event resolve f b happened output={"charged":12}
----
13:00:00
  resolve f accepted: with an output for b
    b Processed, attempt 1, 1 failed
  attention 12:00:00

event done b/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  attention 12:00:00

event resubmit r
----
  resubmit r accepted: 
  Processing
    b Processed, attempt 1
    c Processing, attempt 1, locked by scheduler-1, complete by 13:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 13:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"charged":12}}}
  due 13:00:30
