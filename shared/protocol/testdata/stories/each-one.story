# Without a list one child, that gets the parent's order; its output is the step's.
step ship child
step b after=ship

event submit crash
----
  Processing
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> o1~ship~0/1: start {"n":1}
  -> scheduler: wake ship/1, at 12:10:00
  the process dies before it has sent anything
  due 12:10:05

event submit
----
  ignored: the order is there
  -> scheduler: wake ship/1, at 12:10:00
  -> o1~ship~0/1: start {"n":1}
  due 12:10:05

event child ship 0/1 processed
----
    ship Processed, attempt 1, next 1 of 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"ship":{"n":0}}}
  due 12:00:30
