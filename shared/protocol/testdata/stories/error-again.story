# P12. A repeated report of an Error is the same as the first, whatever has happened to its steps and commands since.
# Broken by: Decide does not remember, or the alert names Command instead of EndCommand.
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

wait 1m
event done b/1
----
12:01:00
    b Processed, attempt 1
  due 12:00:30

event resolve x1 a happened
----
  resolve x1 accepted: 
    a Processed, attempt 1, 1 failed
  due 12:00:30

event settle
----
  ignored: sent again
  -> shop: failed, number 1, a refused the service refused
       a Failed, attempt 1
       b Processing, attempt 1
  -> operator: forward of step "a", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00
