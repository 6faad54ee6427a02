# Stopped with a branch at work: the task stays due until it has answered, and the alert names the
# same number whenever it is reported again (H15, P12).
step a stop
step b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1 crash
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  the process dies before it has sent anything
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  due 12:00:30

event failed a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
    b Compensated, attempt 2
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  ignored: it belongs to an earlier attempt
  due 12:00:30
