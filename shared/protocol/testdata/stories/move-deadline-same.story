# P58, P49. A Move keeps a deadline that is the same.
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

to step a deadline=1h on-deadline=stop
event move m
----
  move m accepted: 
  due 12:00:06
