# A single child's reason is the step's.
step a
step ship child after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    ship Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~0/1: start {"n":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:00:30

event child ship 0/1 compensated code=no-stock
----
  Compensating, because of failure
    ship Waiting, attempt 2, next 1 of 1, open 0, 1 failed: [0], no-stock: it was undone, waits until 12:10:00, complete by 12:10:05
      error of attempt 1 at 12:00:00, no-stock: it was undone
  -> o1~ship~0/2: undo {"n":1}
  -> scheduler: wake ship/2, at 12:10:00
  due 12:00:30

event child ship 0/2 compensated
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    ship Compensated, attempt 2, next 1 of 1, 1 failed: [0], no-stock: it was undone
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, ship no-stock it was undone
       a Compensated, attempt 2
       ship Compensated, attempt 2
  reported
  at rest
