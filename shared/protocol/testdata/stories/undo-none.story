# P20, P22. A step without an effect is passed over once no agent is at work on it, not before. Broken by: undoNext
# does not look whether it is Processing.
step look no-undo

event submit
----
  Processing
    look Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> look-agent: do-look (do/1), key o1/0/look, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
  due 12:00:30

event done look/1
----
  Cancelled, because of cancel
    look Compensated, attempt 1
  -> shop: cancelled, number 1, 
       look Compensated, attempt 1
  reported
  at rest
