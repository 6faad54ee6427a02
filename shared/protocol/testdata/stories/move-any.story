# P54: before the decision a move can change how many decide, but not the members. What has ended well too often is
# withdrawn (P53).
step s-p continue
step s-q continue
step s-r wait=1h
step s any=p,q,r enough=3
step c after=s

event submit
----
  Processing
    s-p Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-q Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-r Waiting, attempt 1, waits until 13:00:00, complete by 13:00:00
    s Waiting, attempt 1
    c Pending
  -> s-p-agent: do-s-p (do/1), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1}}
  -> s-q-agent: do-s-q (do/1), key o1/0/s-q, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake s-r/1, at 13:00:00
  due 12:00:30

event done s-p/1
----
    s-p Processed, attempt 1
    s Waiting, attempt 1, won: p
  due 12:00:30

event done s-q/1
----
    s-q Processed, attempt 1
    s Waiting, attempt 1, won: p, q
  due 12:00:30

to step s-p continue
to step s-q continue
to step s-x wait=1h
to step s any=p,q,x enough=3
to step c after=s
event move m1
----
  move m1 refused: the order cannot go on with the new definition: step s-r: it is removed, and was attempted; step s: its members changed from ["p","q","r"] to ["p","q","x"]
  due 12:00:30

to step s-p continue
to step s-q continue
to step s any=p,q enough=2
to step c after=s
event move m2
----
  move m2 refused: the order cannot go on with the new definition: step s-r: it is removed, and was attempted; step s: its members changed from ["p","q","r"] to ["p","q"]
  due 12:00:30

to step s-p continue
to step s-q continue
to step s-r wait=1h
to step s any=p,q,r enough=1
to step c after=s
event move m3
----
  move m3 accepted: 
    s-q Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    s-r Compensated, attempt 1, withdrawn: overtaken
    s Settling, attempt 1, won: p
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> s-q-agent: undo-s-q (undo/2), key o1/0/s-q, stop by 12:00:30 {"order":{"n":1},"seen":{"s-q":{"of":"s-q"}}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"s":{"of":"s-p"},"s-p":{"of":"s-p"}}}
  due 12:00:30
