# H6. Quiet time contains the clock skew. Broken by: the quiet time does not contain the clock skew. (That a call ends
# by stopBy is the agent's part; only a fence helps against one that does not.)
step a grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a UndoWait, attempt 1, 1 failed, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30
