# P45. If a task does not go forward any more, a do that is handed back is not asked again. In Error, an undo waits
# for the operator without a count. Broken by: hold for a do of a task that is undone.
step a grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
  due 12:00:30

event breaker-open a/1
----
    a UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, breaker-open: no call was made
    attempt a/1 ended: retry-later breaker-open
  -> scheduler: wake a/1, at 12:00:31.001
  due 12:00:30
