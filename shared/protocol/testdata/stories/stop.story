# onFailure: stop. The operator removes the cause and resubmits: same run, same key, a new attempt.
step a
step b after=a stop failures=2
step side stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    side Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> side-agent: do-side (do/1), key o1/0/side, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event later side/1
----
    side Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt side/1 ended: retry-later http-503
  -> scheduler: wake side/1, at 12:00:01
  due 12:00:06

event failed b/1
----
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    side Pending, attempt 1, 1 failed
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
       side Pending, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

# Another number than that of the order. The refusal raises the number above 7.
event undo u1 command=7
----
  undo u1 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  attention 12:00:00

# Both the failed and the handed-back step are claimed again (H31).
event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    b Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    side Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> side-agent: do-side (do/2), key o1/0/side, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# The same command again: the stored answer, the same requests.
event resubmit r1 command=8
----
  ignored: this command already has a verdict
  resubmit r1 accepted: 
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> side-agent: do-side (do/2), key o1/0/side, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done side/2
----
    side Processed, attempt 2
  due 12:00:30

event done b/2
----
  Processed
    b Processed, attempt 2
  -> shop: completed, number 2, 
       a Processed, attempt 1
       b Processed, attempt 2
       side Processed, attempt 2
  reported
  at rest
