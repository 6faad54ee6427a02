# P45. An undo polls as well.
step a poll=1h

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
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt a/1 ended: superseded
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undo-not-yet a/2
----
    a UndoWait, attempt 2, waits until 12:00:02.943, complete by 12:00:07.943
      error of attempt 2 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/2 ended: retry-later not-yet
  -> scheduler: wake a/2, at 12:00:02.943
  due 12:00:07.943

wait 1h
event wake a/2
----
13:00:00
    a Compensating, attempt 3, locked by scheduler-1, complete by 13:00:30
  -> a-agent: undo-a (undo/3), key o1/0/a, stop by 13:00:30 {"order":{"n":1}}
  due 12:00:07.943

event undo-not-yet a/3
----
  Error (undo), because of cancel
    a UndoWait, attempt 3
      error of attempt 3 at 13:00:00, not-yet: the service has answered not-yet for longer than pollFor: no call was made
    attempt a/3 ended: retry-later not-yet
  -> shop: failed, number 1, a not-yet the service has answered not-yet for longer than pollFor: no call was made
       a UndoWait, attempt 3
  -> operator: undo of step "a", not-yet: the service has answered not-yet for longer than pollFor: no call was made (answer to command 1; resubmit; undo; resolve from 13:00:31.001)
  reported
  attention 13:00:00
