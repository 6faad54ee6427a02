# P54: a member that waits is withdrawn by the end of its step, and not finished, although its time has come as well.
workflow reports
step s-p continue
step s-q wait=1m
step s any=p,q enough=1
step c after=s

event submit
----
  Processing
    s-p Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-q Waiting, attempt 1, waits until 12:01:00, complete by 12:01:05
    s Waiting, attempt 1
    c Pending
  -> shop: started, number 1, 
  -> s-p-agent: do-s-p (do/1), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake s-q/1, at 12:01:00
  due 12:00:30

wait 1m
event done s-p/1
----
12:01:00
    s-p Processed, attempt 1
    s-q Compensated, attempt 1, withdrawn: overtaken
    s Processed, attempt 1, won: p
    c Processing, attempt 1, locked by scheduler-1, complete by 12:01:30
  -> shop: step-finished, number 2, s-p   {"of":"s-p"}
  -> shop: step-finished, number 3, s   {"of":"s-p"}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:01:30 {"order":{"n":1},"seen":{"s":{"of":"s-p"},"s-p":{"of":"s-p"}}}
  due 12:00:30
