# P45. If a task does not go forward any more, a do that is handed back is not asked again. In Error, an undo waits
# for the operator without a count. Broken by: hold for a do of a task that is undone.
step a
step b stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processing, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

event breaker-open a/1
----
    a Failed, attempt 1
      error of attempt 1 at 12:00:00, breaker-open: no call was made
    attempt a/1 ended: retry-later breaker-open
  attention 12:00:00
