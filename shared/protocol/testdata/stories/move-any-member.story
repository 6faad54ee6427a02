# P12: the status of an Any is sent again with its output, although the Move has removed the member which it came from.
workflow reports
step s-p continue
step s-q wait=1h continue
step s any=p,q enough=1
step c after=s no-undo

event submit
----
  Processing
    s-p Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-q Waiting, attempt 1, waits until 13:00:00, complete by 13:00:00
    s Waiting, attempt 1
    c Pending
  -> shop: started, number 1, 
  -> s-p-agent: do-s-p (do/1), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake s-q/1, at 13:00:00
  due 12:00:30

event done s-p/1
----
    s-p Processed, attempt 1
    s-q Compensated, attempt 1, withdrawn: overtaken
    s Processed, attempt 1, won: p
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 2, s-p   {"of":"s-p"}
  -> shop: step-finished, number 3, s   {"of":"s-p"}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"s":{"of":"s-p"},"s-p":{"of":"s-p"}}}
  due 12:00:30

event unsent shop 3 it does not exist
----
  shop has no status from number 3 on: it does not exist; again at 12:01:00
  due 12:00:30

event failed c/1
----
  Compensating, because of failure
    s-p Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    c Compensated, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt c/1 ended: failed refused
  -> s-p-agent: undo-s-p (undo/2), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1},"seen":{"s-p":{"of":"s-p"}}}
  shop has no status from number 3 on: it does not exist; again at 12:01:00
  due 12:00:30

wait 31s
event undone s-p/2
----
12:00:31
  Compensated, because of failure
    s-p Compensated, attempt 2
    s Compensated, attempt 1, won: p
  reported
  shop has no status from number 3 on: it does not exist; again at 12:01:00
  due 12:00:30

to workflow reports
to step s-x continue
to step s-q wait=1h continue
to step s any=x,q enough=1
event move m
----
  move m accepted: 
    s-x Pending
    s Compensated, attempt 1
  shop has no status from number 3 on: it does not exist; again at 12:01:00
  due 12:00:30

wait 1h
event settle
----
13:00:31
  ignored: sent again
  -> shop: step-finished, number 3, s   {"of":"s-p"}
  -> shop: undone, number 4, c refused the service refused
       s-p Compensated, attempt 2
       s-q Compensated, attempt 1
       s Compensated, attempt 1
       c Compensated, attempt 1
  delivered
  at rest
