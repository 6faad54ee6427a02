# H7. Requests of a plain service are distinguished. Broken by: request leaves out Grade, or take does not raise
# Attempt: the agent's ledger distinguishes a copy from a new attempt by them (P31).
step a grade=plain

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
  due 12:00:30

event submit
----
  ignored: the order is there
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30, plain {"order":{"n":1}}
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
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:30, plain {"order":{"n":1}}
  due 12:00:06
