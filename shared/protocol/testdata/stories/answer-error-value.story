# A Resubmit keeps the round and the votes of what is undecided, and its time (P33, P35).
step x stop
step again answers=yes,no need=2 timeout=2h
step b after=again

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    again Waiting, attempt 1, round 1, needs 2, waits until 14:00:00, complete by 14:00:00
    b Pending
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake again/1, at 14:00:00
  due 12:00:30

event failed x/1
----
  Error (forward)
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    again Waiting, attempt 1, round 1, needs 2, waits until 14:00:00
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       x Failed, attempt 1
       again Waiting, attempt 1
       b Pending, attempt 0
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer again/1 yes by=ann
----
  answer a1 accepted: 
    again Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 14:00:00
  attention 12:00:00

wait 90m
event resubmit r1
----
13:30:00
  resubmit r1 accepted: 
  Processing
    x Processing, attempt 2, locked by scheduler-1, complete by 13:30:30
    again Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 14:00:00, complete by 14:00:00
  -> scheduler: wake again/1, at 14:00:00
  -> x-agent: do-x (do/2), key o1/0/x, stop by 13:30:30 {"order":{"n":1}}
  due 13:30:30

event answer again/1 yes by=bob
----
  answer a2 accepted: 
    again Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob
    b Processing, attempt 1, locked by scheduler-1, complete by 13:30:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 13:30:30 {"order":{"n":1},"seen":{"again":{"value":"yes","by":"ann, bob","at":"2026-11-21T13:30:00.000Z"}}}
  due 13:30:30
