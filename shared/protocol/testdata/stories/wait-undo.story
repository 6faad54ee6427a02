# The failure of another step ends a wait: there is nothing to undo in it, and no agent is asked.
step a
step w wait=10m after=a
step v wait=20m after=a
step b after=a failures=1

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
    v Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    w Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
    v Waiting, attempt 1, waits until 12:20:00, complete by 12:20:00
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake w/1, at 12:10:00
  -> scheduler: wake v/1, at 12:20:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    w Compensated, attempt 1
    v Compensated, attempt 1
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event wake w/1
----
  ignored: the step is not in a state that waits
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, b refused the service refused
       a Compensated, attempt 2
       w Compensated, attempt 1
       v Compensated, attempt 1
       b Compensated, attempt 2
  reported
  at rest
