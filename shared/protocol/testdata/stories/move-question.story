# P49: a move may change a question, even an open one, but not the answers that it accepts.
step w answers=yes,no

event submit
----
  Processing
    w Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake w/1, at 13:00:00
  due 13:00:00

to step w answers=yes,never
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step w: its values changed from ["yes","no"] to ["yes","never"]
  due 13:00:00

to step w answers=yes,no refuse=no
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step w: its refuse changed from none to "value == 'no'"
  due 13:00:00

to step w answers=yes,no ask=w-ask
event move m3
----
  move m3 refused: the order cannot go on with the new definition: step w: its ask changed from none to "w-ask"
  due 13:00:00

to step w wait=1h
event move m4
----
  move m4 refused: the order cannot go on with the new definition: step w: its kind changed from answer to wait
  due 13:00:00

to step w answers=yes,no template=another
event move m5
----
  move m5 accepted: 
  due 13:00:00

to step w answers=yes,no timeout=24h
event move m6
----
  move m6 accepted: 
  due 13:00:00

to step w answers=yes,no on-timeout=stop
event move m7
----
  move m7 accepted: 
  due 13:00:00
