# P16, P23a. What the Supervisor decides holds now, not only when its sweep began. Broken by: guard lets an older
# attempt through; a time is not looked at again.
step a grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event overdue a/1
----
  ignored: its time has not passed
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 1m
event wake a/1
----
12:01:00
    a Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:30 {"order":{"n":1}}
  due 12:00:06

wait 1m
event overdue a/1
----
12:02:00
  ignored: it belongs to an earlier attempt
  due 12:00:06

event deadline
----
  ignored: its time has not passed
  due 12:00:06
