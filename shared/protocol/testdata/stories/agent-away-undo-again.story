# P45. A command gives a step that waits for its agent its whole maxQueueTime again, in both directions.
step a
step b stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-now a/1
----
    a Pending, attempt 1, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, unauthorized: no call was made, since 12:00:00
    attempt a/1 ended: retry-later unauthorized
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647

event failed b/1
----
  Error (forward)
    a Pending, attempt 1
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Pending, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 24h
event undo c1
----
day 1 12:00:00
  undo c1 accepted: 
  Compensating, because of operator
      error of attempt 1 at 12:00:00, unauthorized: no call was made
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by day 1 12:00:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by day 1 12:00:30 {"order":{"n":1}}
  due day 1 12:00:30

event undone b/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by day 1 12:00:30
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by day 1 12:00:30 {"order":{"n":1}}
  due day 1 12:00:30

event undo-not-now a/2
----
    a UndoWait, attempt 2, waits until day 1 12:00:02.943, complete by day 1 12:00:07.943
      error of attempt 2 at day 1 12:00:00, unauthorized: no call was made, since day 1 12:00:00
    attempt a/2 ended: retry-later unauthorized
  -> scheduler: wake a/2, at day 1 12:00:02.943
  due day 1 12:00:07.943
