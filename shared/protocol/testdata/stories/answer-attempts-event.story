# Each event of the name decides a round, the early one too. A copy of a refused one opens no further round, although
# its verdict is gone.
step a
step paid event=paid refuse attempts=3 schema after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    paid Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer paid "no" by=bank id=e1
----
  answer e1 accepted: 
    paid Pending, round 1, bank: "no"
  due 12:00:30

event answer paid "yes" by=bank id=e2
----
  answer e2 refused: bank has answered step paid before, with "no" at 2026-11-21T12:00:00.000Z
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    paid Waiting, attempt 1, round 2, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:00:00, answer-refused: the event paid came with a value that the workflow refuses, attempt 1 of 3
  -> scheduler: wake paid/1, at 13:00:00
  due 12:00:30

event answer paid {} by=bank
----
  answer a3 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a4 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a5 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a6 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a7 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a8 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a9 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid {} by=bank
----
  answer a10 refused: the value is not of the event's shape: it is an object
  due 12:00:30

event answer paid "no" by=bank id=e1
----
  ignored: this command already has a verdict
  answer e1 refused: the order has refused this answer, and keeps no reason; look at the order, and send it under a new ID if it still applies
  due 12:00:30

event answer paid "no" by=bank id=e1
----
  ignored: this command already has a verdict
  answer e1 refused: the order has refused this answer, and keeps no reason; look at the order, and send it under a new ID if it still applies
  due 12:00:30

event answer paid "yes" by=bank
----
  answer a13 accepted: 
  Processed
    paid Processed, attempt 1, round 2, decided "yes" by bank
  -> shop: completed, number 1, 
       a Processed, attempt 1
       paid Processed, attempt 1
  reported
  at rest
