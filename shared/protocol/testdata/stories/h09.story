# H9. Point of no return counts from its claim. Broken by: pastNoReturn asks for Processed instead of Attempted.
step a
step b after=a no-return

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event cancel c1
----
  cancel c1 refused: the order is past its point of no return
  due 12:00:30

event later b/1
----
    b Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:01
  due 12:00:06

event cancel c2
----
  cancel c2 refused: the order is past its point of no return
  due 12:00:06

wait 1m
event wake b/1
----
12:01:00
    b Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:01:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:06

event failed b/2
----
  Error (forward)
    b Failed, attempt 2, 2 failed
      error of attempt 2 at 12:01:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 2
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; resolve from 12:01:31.001)
  reported
  attention 12:01:00

event undo u1
----
  undo u1 refused: the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first
  attention 12:01:00

event cancel c3
----
  cancel c3 refused: the order is past its point of no return
  attention 12:01:00
