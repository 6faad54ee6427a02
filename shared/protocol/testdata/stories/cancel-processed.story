# An order that is done cannot be cancelled, and other content under its ID is another order.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
  reported
  at rest

event cancel c1
----
  cancel c1 refused: the order is Processed
  at rest

event cancel c1
----
  ignored: this command already has a verdict
  cancel c1 refused: the order is Processed
  at rest

event submit other-content
----
refused (other-content): an order with this ID and other content was submitted before; nothing was changed: submit the new content under a new ID
