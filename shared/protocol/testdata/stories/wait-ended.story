# The operator ends a wait before its time, and the order goes on at once. The command that comes again does
# nothing more (P34).
workflow reports
step w wait=10m
step b after=w

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> shop: started, number 1, 
  -> scheduler: wake w/1, at 12:10:00
  due 12:10:05

event resolve x1 w happened
----
  resolve x1 accepted: 
    w Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 2, w
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event resolve x1 w happened
----
  ignored: this command already has a verdict
  resolve x1 accepted: 
  due 12:00:30

event wake w/1
----
  ignored: the step is not in a state that waits
  due 12:00:30

event done b/1
----
  Processed
    b Processed, attempt 1
  -> shop: step-finished, number 3, b   {"of":"b"}
  -> shop: completed, number 4, 
       w Processed, attempt 1
       b Processed, attempt 1
  reported
  at rest
