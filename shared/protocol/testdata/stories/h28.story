# H28. Wake claims nothing forward during undo. Broken by: stepRows let a Wake claim forward whatever the task's
# direction.
step a grade=idempotent
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 2s
event wake a/1
----
12:00:02
    a Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:32
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:32 {"order":{"n":1}}
  due 12:00:06

event later b/1
----
    b Pending, attempt 1, 1 failed, waits until 12:00:03, complete by 12:00:08
      error of attempt 1 at 12:00:02, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:03
  due 12:00:06

event failed a/2
----
  Compensating, because of failure
    a Failed, attempt 2, 2 failed
      error of attempt 2 at 12:00:02, refused: the service refused
    b UndoWait, attempt 1, 1 failed, waits until 12:00:31.001, complete by 12:00:36.001
    attempt a/2 ended: failed refused
  -> scheduler: wake b/1, at 12:00:31.001
  due 12:00:06

event wake b/1
----
  ignored: the order waits for something else
  due 12:00:06
