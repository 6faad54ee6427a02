# An empty list ends at once, and nothing is to be undone.
step ship each=,
step b after=ship

event submit
----
  Processing
    ship Processed, attempt 1, next 0 of 0
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":0,"failed":0}}}
  due 12:00:30

event failed b/1
----
  Compensating, because of failure
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"count":0,"failed":0}}}
  due 12:00:30
