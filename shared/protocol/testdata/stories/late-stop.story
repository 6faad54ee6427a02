# P58: with stop the step stays as it is, and its reply still counts. A Resubmit sets the deadline anew.
step a deadline=20s on-deadline=stop
step b deadline=20s on-deadline=stop
step c after=a,b

event submit
----
  Processing
    a Processing, attempt 1, late at 12:00:20, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, late at 12:00:20, locked by scheduler-1, complete by 12:00:30
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:20

event later b/1
----
    b Pending, attempt 1, 1 failed, late at 12:00:20, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:01
  due 12:00:06

wait 21s
sweep
----
12:00:21
supervisor: StepLate{"Step":"a","Run":0,"Seq":1}
  Error (forward)
      error of attempt 1 at 12:00:21, late: the deadline of the step has passed
    b Pending, attempt 1, 1 failed, late at 12:00:20
  -> scheduler: settle
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
  ignored: a task in Error waits for the operator
  -> scheduler: settle
supervisor: StepLate{"Step":"b","Run":0,"Seq":1}
  ignored: a deadline binds only a task that goes forward
  -> scheduler: settle
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
  due 12:00:30

event resubmit
----
  resubmit  accepted: 
  Processing
    b Processing, attempt 2, late at 12:00:41, locked by scheduler-1, complete by 12:00:51
  -> shop: failed, number 1, a late the deadline of the step has passed
       a Processing, attempt 1
       b Pending, attempt 1
       c Pending, attempt 0
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:51 {"order":{"n":1}}
  due 12:00:30

wait 10s
event done b/2
----
12:00:31
    b Processed, attempt 2
    c Processing, attempt 1, locked by scheduler-1, complete by 12:01:01
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:01:01 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30
