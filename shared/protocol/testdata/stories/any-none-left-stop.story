# P54: with onFailure: stop a failed member stays Failed until the step is decided. A Resubmit asks it again with the same key.
step decided-one stop
step decided-two stop
step decided any=one,two stop
step c after=decided

event submit
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
    c Pending
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed decided-one/1
----
    decided-one Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt decided-one/1 ended: failed refused
  due 12:00:30

event failed decided-two/1
----
  Error (forward)
    decided-two Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    decided Failed, attempt 1
      error of attempt 1 at 12:00:00, none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of two, refused: the service refused
    attempt decided-two/1 ended: failed refused
  -> shop: failed, number 1, decided none-left 0 of its members can still end well, and it needs 1; the last failure that is known is of two, refused: the service refused
       decided-one Failed, attempt 1
       decided-two Failed, attempt 1
       decided Failed, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "decided", none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of two, refused: the service refused (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resubmit
----
  resubmit  accepted: 
  Processing
    decided-one Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 2
  -> decided-one-agent: do-decided-one (do/2), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/2), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done decided-two/2
----
    decided-one Compensating, attempt 3, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-two Processed, attempt 2
    decided Settling, attempt 2, won: two
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt decided-one/2 ended: superseded
  -> decided-one-agent: undo-decided-one (undo/3), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"decided":{"of":"decided-two"},"decided-two":{"of":"decided-two"}}}
  due 12:00:30

event undone decided-one/3
----
    decided-one Compensated, attempt 3, withdrawn: overtaken
    decided Processed, attempt 2, won: two
  due 12:00:30

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: completed, number 2, 
       decided-one Compensated, attempt 3
       decided-two Processed, attempt 2
       decided Processed, attempt 2
       c Processed, attempt 1
  reported
  at rest
