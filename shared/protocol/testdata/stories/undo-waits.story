# A step without a fence is undone when no call of it can be under way any more, and the application is notified until when (P21).
workflow reports
step a grade=idempotent
step b grade=idempotent

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  due 12:00:30

# The submission comes again: b was asked to go forward, and is not asked again now (P12).
event submit
----
  ignored: the order is there
  -> shop: started, number 1, 
  due 12:00:30

event failed b/1
----
    b UndoWait, attempt 1, 1 failed, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> scheduler: wake b/1, at 12:00:31.001
  -> shop: undoing, number 0, b, until 12:00:31.001
  due 12:00:30

wait 40s
event wake b/1
----
12:00:40
    b Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:10
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:01:10 {"order":{"n":1}}
  due 12:00:30

event undone b/2
----
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:10
    b Compensated, attempt 2, 1 failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:01:10 {"order":{"n":1}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 2, a refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest

# Cancelled after its end, it keeps the reason why it was undone (P19).
event cancel c1
----
  cancel c1 accepted: 
  Cancelled, because of failure
  -> shop: cancelled, number 3, a refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 2
  reported
  at rest
