# P54: a cancel in Settling undoes the winner too, and asks for no undo twice.
step decided-one continue
step decided-two continue
step decided any=one,two
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

event done decided-two/1
----
    decided-one Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-two Processed, attempt 1
    decided Settling, attempt 1, won: two
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt decided-one/1 ended: superseded
  -> decided-one-agent: undo-decided-one (undo/2), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"decided":{"of":"decided-two"},"decided-two":{"of":"decided-two"}}}
  due 12:00:30

event cancel
----
  cancel  accepted: 
  Compensating, because of cancel
    c Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    attempt c/1 ended: superseded
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"decided":{"of":"decided-two"},"decided-two":{"of":"decided-two"}}}
  due 12:00:30

event undone c/2
----
    decided-two Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    c Compensated, attempt 2
  -> decided-two-agent: undo-decided-two (undo/2), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1},"seen":{"decided-two":{"of":"decided-two"}}}
  due 12:00:30

event undone decided-two/2
----
    decided-two Compensated, attempt 2
  due 12:00:30

event undone decided-one/2
----
  Cancelled, because of cancel
    decided-one Compensated, attempt 2, withdrawn: overtaken
    decided Compensated, attempt 1, won: two
  -> shop: cancelled, number 1, 
       decided-one Compensated, attempt 2
       decided-two Compensated, attempt 2
       decided Compensated, attempt 1
       c Compensated, attempt 2
  reported
  at rest
