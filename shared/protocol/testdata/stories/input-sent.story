# P51, P12: every request of the step in this run has the new input, byte for byte, and the same key.
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
event resolve f b not-happened
----
13:00:00
  resolve f accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:00

event resubmit r step=b input={"amount":12} by=ann reason=amount
----
  resubmit r accepted: with another input for b
  Processing
    b Processing, attempt 2, input of command 2 ann amount, locked by scheduler-1, complete by 13:00:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30, resolved: not-happened {"amount":12}
  due 13:00:30

event resubmit r command=1 step=b input={"amount":12}
----
  ignored: this command already has a verdict
  resubmit r accepted: with another input for b
  -> b-agent: do-b (do/2), key o1/0/b, stop by 13:00:30, resolved: not-happened {"amount":12}
  due 13:00:30

event later b/2
----
    b Pending, attempt 2, 1 failed, input of command 2 ann amount, waits until 13:00:01, complete by 13:00:06
      error of attempt 2 at 13:00:00, http-503: the service is not well
    attempt b/2 ended: retry-later http-503
  -> scheduler: wake b/2, at 13:00:01
  due 13:00:06

wait 1m
event wake b/2
----
13:01:00
    b Processing, attempt 3, 1 failed, input of command 2 ann amount, locked by scheduler-1, complete by 13:01:30
  -> b-agent: do-b (do/3), key o1/0/b, stop by 13:01:30, resolved: not-happened {"amount":12}
  due 13:00:06

event done b/3
----
    b Processed, attempt 3, 1 failed, input of command 2 ann amount
    c Processing, attempt 1, locked by scheduler-1, complete by 13:01:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 13:01:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 13:00:06
