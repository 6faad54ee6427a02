# P49: an expression that failed is evaluated again.
step a
step b after=a stop input=fails

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Error (forward)
    a Processed, attempt 1
    b Failed
      error of attempt 0 at 12:00:00, expression: input: no such field
  -> shop: failed, number 1, b expression input: no such field
       a Processed, attempt 1
       b Failed, attempt 0
  -> operator: forward of step "b", expression: input: no such field (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

to step a
to step b after=a stop
event move m
----
  move m accepted: 
    b Pending
  attention 12:00:00

event resubmit r
----
  resubmit r accepted: 
  Processing
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30
