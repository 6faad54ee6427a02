# P53: every end of a loser's attempt leads to its undo, and no wait or retry claims it again.
step decided-one continue
step decided-two continue grade=idempotent
step decided any=one,two

event submit
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later decided-two/1
----
    decided-two Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt decided-two/1 ended: retry-later http-503
  -> scheduler: wake decided-two/1, at 12:00:01
  due 12:00:06

event done decided-one/1
----
    decided-one Processed, attempt 1
    decided-two UndoWait, attempt 1, 1 failed, withdrawn: overtaken, waits until 12:00:31.001, complete by 12:00:36.001
    decided Settling, attempt 1, won: one
  -> scheduler: wake decided-two/1, at 12:00:31.001
  due 12:00:06

event wake decided-two/1
----
  ignored: its wait is not over
  due 12:00:06

wait 1m
event wake decided-two/1
----
12:01:00
    decided-two Compensating, attempt 2, 1 failed, withdrawn: overtaken, locked by scheduler-1, complete by 12:01:30
  -> decided-two-agent: undo-decided-two (undo/2), key o1/0/decided-two, stop by 12:01:30 {"order":{"n":1}}
  due 12:00:06

event undo-failed decided-two/2
----
    decided-two UndoWait, attempt 2, 1 failed, 1 undos failed, withdrawn: overtaken, waits until 12:01:02, complete by 12:01:07
      error of attempt 2 at 12:01:00, refused: the service refused
    attempt decided-two/2 ended: failed refused
  -> scheduler: wake decided-two/2, at 12:01:02
  due 12:00:06
