# P19. A step that fails while the order is undone lets the undo go on: the quiet time of its own, and then those
# before it. Broken by: policy does not advance.
step a
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
  due 12:00:30

event later b/1
----
    b UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt b/1 ended: retry-later http-503
  -> scheduler: wake b/1, at 12:00:31.001
  due 12:00:30
