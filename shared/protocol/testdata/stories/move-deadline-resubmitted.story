# P58, P49. A deadline that is the same counts from the Resubmit.
step a deadline=1h on-deadline=stop

event submit
----
  Processing
    a Processing, attempt 1, late at 13:00:00, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, late at 13:00:00, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 2h
sweep
----
14:00:00
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, 1 failed, late at 13:00:00, waits until 12:00:01, complete by 14:00:05
  -> scheduler: wake a/1, now
supervisor: StepLate{"Step":"a","Run":0,"Seq":1}
  Error (forward)
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 14:00:00, late: the deadline of the step has passed
  -> scheduler: settle
  due 14:01:00

event resubmit r
----
  resubmit r accepted: 
  Processing
    a Processing, attempt 2, late at 15:00:00, locked by scheduler-1, complete by 14:00:30
  -> shop: failed, number 1, a late the deadline of the step has passed
       a Failed, attempt 1
  -> a-agent: do-a (do/2), key o1/0/a, stop by 14:00:30 {"order":{"n":1}}
  due 14:00:30

event later a/2
----
    a Pending, attempt 2, 1 failed, late at 15:00:00, waits until 14:00:01, complete by 14:00:06
      error of attempt 2 at 14:00:00, http-503: the service is not well
    attempt a/2 ended: retry-later http-503
  -> scheduler: wake a/2, at 14:00:01
  due 14:00:06

to step a deadline=1h on-deadline=stop
event move m
----
  move m accepted: 
  due 14:00:06
