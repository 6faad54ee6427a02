# P5. Every refusal names its command, and states the reason in words.
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

event resubmit x1
----
  resubmit x1 refused: the order is Processed, which is final
  at rest

event cancel x2
----
  cancel x2 refused: the order is Processed
  at rest
