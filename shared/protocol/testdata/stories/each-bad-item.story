# An item whose order cannot be computed counts as a failed child; where none can be started, the step ends at once.
step ship each=bad,bad tolerate=2
step b after=ship

event submit
----
  Processing
    ship Processed, attempt 1, next 2 of 2, 2 failed: [0 1], expression: the order of child 0: no such field
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":2,"failed":2}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":2,"failed":2}}}
  due 12:00:30
