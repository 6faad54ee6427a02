# A value of the wrong shape is refused, and the step waits on.
step first event=bought schema

event submit
----
  Processing
    first Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake first/1, at 13:00:00
  due 13:00:00

event answer first/1 {"x":1} by=shop
----
  answer a1 refused: the value is not of the event's shape: it is an object
  due 13:00:00

event answer first/1 "fine" by=shop
----
  answer a2 accepted: 
  Processed
    first Processed, attempt 1, round 1, decided "fine" by shop
  -> shop: completed, number 1, 
       first Processed, attempt 1
  reported
  at rest
