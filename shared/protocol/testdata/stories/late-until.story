# P58: an absolute deadline is evaluated at the first claim. A Resubmit keeps it, and drops it once it has passed.
step a deadline-until=1m on-deadline=stop failures=9 poll=1h
step b after=a deadline-until=5s

event submit
event not-yet a/1
wait 61s
sweep
event resubmit r1
event done a/2
----
  Processing
    a Processing, attempt 1, late at 12:01:00, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    a Pending, attempt 1, late at 12:01:00, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647
12:01:01
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, late at 12:01:00, waits until 12:00:02.647, complete by 12:01:06
  -> scheduler: wake a/1, now
supervisor: StepLate{"Step":"a","Run":0,"Seq":1}
  Error (forward)
    a Failed, attempt 1
      error of attempt 1 at 12:01:01, late: the deadline of the step has passed
  -> scheduler: settle
  due 12:02:01
  resubmit r1 accepted: 
  Processing
    a Processing, attempt 2, locked by scheduler-1, complete by 12:01:31
  -> shop: failed, number 1, a late the deadline of the step has passed
       a Failed, attempt 1
       b Pending, attempt 0
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:31 {"order":{"n":1}}
  due 12:01:31
    a Processed, attempt 2
    b Processing, attempt 1, late at 12:00:05, locked by scheduler-1, complete by 12:01:31
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:31 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:05

# A time that has passed makes the step late at the next sweep.
sweep
----
supervisor: StepLate{"Step":"b","Run":0,"Seq":1}
    b UndoWait, attempt 1, withdrawn: late, complete by 12:01:06
      error of attempt 1 at 12:01:01, late: the deadline of the step has passed
    attempt b/1 ended: superseded
  -> scheduler: wake b/1, now
  due 12:01:06
