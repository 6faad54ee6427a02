# P22a, P51: the operator said that a step which was given up had not happened, and its late "done" says that it has: the
# point of no return is passed again. Broken by: a done of a Failed step changes nothing.
step a
step b no-return after=a failures=1

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

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  -> scheduler: settle
  due 12:01:31

event settle
----
  ignored: sent again
  -> shop: failed, number 1, b timeout no reply by the complete-by time
       a Processed, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", timeout: no reply by the complete-by time (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:31

wait 1h
event resolve f b not-happened
----
13:00:31
  resolve f accepted: 
    b Failed, attempt 1, 1 failed, without effect
  attention 12:00:31

event done b/1
----
    b Failed, attempt 1, 1 failed
  attention 12:00:31

event undo u
----
  undo u refused: the order is past its point of no return; fix: if that step has had no effect, resolve it as not-happened first
  attention 12:00:31

event resubmit r step=b input={}
----
  resubmit r refused: step b was asked, and is not proven to have had no effect: its service must not get another input under the same key; fix: find out at the service, and if it did not happen resolve the step as not-happened first; or undo the order, and resubmit it with the input
  attention 12:00:31
