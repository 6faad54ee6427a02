# P58: a late Any withdraws its members, winners too.
step s-p continue
step s-q wait=2h continue
step s any=p,q enough=2 deadline=1h
step b after=s when-failed=s

event submit
----
  Processing
    s-p Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-q Waiting, attempt 1, waits until 14:00:00, complete by 14:00:00
    s Waiting, attempt 1, late at 13:00:00
    b Pending
  -> s-p-agent: do-s-p (do/1), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake s-q/1, at 14:00:00
  due 12:00:30

event done s-p/1
----
    s-p Processed, attempt 1
    s Waiting, attempt 1, won: p, late at 13:00:00
  due 12:00:30

wait 61m
sweep
----
13:01:00
supervisor: StepLate{"Step":"s","Run":0,"Seq":1}
    s Waiting, attempt 1, withdrawn: late, complete by 13:01:05
      error of attempt 1 at 13:01:00, late: the deadline of the step has passed
  -> scheduler: wake s/1, now
  due 13:01:05

event wake s/1
----
    s-p Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 13:01:30
    s-q Compensated, attempt 1, withdrawn: overtaken
    s Compensated, attempt 1, withdrawn: late
    b Processing, attempt 1, locked by scheduler-1, complete by 13:01:30
  -> s-p-agent: undo-s-p (undo/2), key o1/0/s-p, stop by 13:01:30 {"order":{"n":1},"seen":{"s-p":{"of":"s-p"}}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 13:01:30 {"order":{"n":1}}
  due 13:01:05
