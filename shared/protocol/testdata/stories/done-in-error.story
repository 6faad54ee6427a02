# P12, I18. Steps that were done while the order was in Error are reported by the Resubmit, after its "started", and a
# redelivered one sends them in the same order, byte for byte.
workflow reports
step a stop
step b
step c

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1}}
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
       c Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

event done c/1
----
    c Processed, attempt 1
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
  -> shop: step-finished, number 5, c   {"of":"c"}
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event resubmit r1 command=0
----
  ignored: this command already has a verdict
  resubmit r1 accepted: 
  -> shop: started, number 3, 
  -> shop: step-finished, number 4, b   {"of":"b"}
  -> shop: step-finished, number 5, c   {"of":"c"}
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/2
----
  Processed
    a Processed, attempt 2
  -> shop: step-finished, number 6, a   {"of":"a"}
  -> shop: completed, number 7, 
       a Processed, attempt 2
       b Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
