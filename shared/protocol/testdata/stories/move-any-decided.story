# P54: a decided step keeps how many have decided it, and takes no fact.
step s-p continue
step s-q continue
step s any=p,q enough=1
step c after=s stop

event submit
----
  Processing
    s-p Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s-q Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    s Waiting, attempt 1
    c Pending
  -> s-p-agent: do-s-p (do/1), key o1/0/s-p, stop by 12:00:30 {"order":{"n":1}}
  -> s-q-agent: do-s-q (do/1), key o1/0/s-q, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done s-p/1
----
    s-p Processed, attempt 1
    s-q Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    s Settling, attempt 1, won: p
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt s-q/1 ended: superseded
  -> s-q-agent: undo-s-q (undo/2), key o1/0/s-q, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"s":{"of":"s-p"},"s-p":{"of":"s-p"}}}
  due 12:00:30

event undone s-q/2
----
    s-q Compensated, attempt 2, withdrawn: overtaken
    s Processed, attempt 1, won: p
  due 12:00:30

event failed c/1
----
  Error (forward)
    c Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt c/1 ended: failed refused
  -> shop: failed, number 1, c refused the service refused
       s-p Processed, attempt 1
       s-q Compensated, attempt 2
       s Processed, attempt 1
       c Failed, attempt 1
  -> operator: forward of step "c", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

to step s-p continue
to step s-q continue
to step s any=p,q enough=2
to step c after=s stop
event move m
----
  move m refused: the order cannot go on with the new definition: step s: its enough changed
  attention 12:00:00

event resolve f s happened
----
  resolve f refused: the step calls no agent, so there is nothing in doubt; fix: resolve those of its members that are
  attention 12:00:00
