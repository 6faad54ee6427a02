# No child of an empty list can end well.
step ship each=, enough=1 continue
step x after=ship

event submit
----
  Processing
    ship Compensated, failed for good: none-left
      error of attempt 0 at 12:00:00, none-left: each is an empty list, so no child can end well
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
