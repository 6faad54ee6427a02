# P40, P49: the move of a parent may change the definition of its children, but neither their parent step nor their
# orders.
step all each=a,b at-once=1

event submit
----
  Processing
    all Waiting, attempt 1, next 1 of 2, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~all~0/1: start {"item":"a","index":0}
  -> scheduler: wake all/1, at 12:10:00
  due 12:10:05

to step all each=a,b at-once=1 of=letter@food
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step all: its workflow changed from "parcel" to "letter"
  due 12:10:05

to step all each=a,b at-once=1 order=other
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step all: its order changed from "template" to "other"
  due 12:10:05

to step all each=a,b at-once=1 collect
event move m3
----
  move m3 refused: the order cannot go on with the new definition: step all: its collect changed from none to true
  due 12:10:05

to step all each=a,b at-once=1 of=parcel@food
event move m4
----
  move m4 accepted: 
  due 12:10:05

event child all 0/1 processed
----
    all Waiting, attempt 1, next 2 of 2, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~all~1/1: start {"item":"b","index":1}
  due 12:10:05
