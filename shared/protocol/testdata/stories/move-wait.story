# P49: a wait that has begun does not change by a move, and cannot become a call.
step w wait=1h

event submit
----
  Processing
    w Waiting, attempt 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake w/1, at 13:00:00
  due 13:00:00

to step w wait=1m
event move m1
----
  move m1 accepted: 
  due 13:00:00

to step w until=2h
event move m2
----
  move m2 accepted: 
  due 13:00:00

to step w
event move m3
----
  move m3 refused: the order cannot go on with the new definition: step w: its kind changed from wait to call
  due 13:00:00
