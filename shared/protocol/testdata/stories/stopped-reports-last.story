# An order in Error reports nothing more: its "failed" has the highest number. A step that was done meanwhile is reported when it goes on.
workflow reports
step a grade=plain stop failures=1
step b grade=plain stop failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30, plain {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> shop: failed, number 2, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 3, 
  -> shop: step-finished, number 4, b   {"of":"b"}
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
  due 12:00:30

event done a/2
----
  Processed
    a Processed, attempt 2
  -> shop: step-finished, number 5, a   {"of":"a"}
  -> shop: completed, number 6, 
       a Processed, attempt 2
       b Processed, attempt 1
  reported
  at rest
