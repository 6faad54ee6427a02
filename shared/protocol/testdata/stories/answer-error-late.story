# In Error the time for an answer means nothing: what is not decided stays so until the Resubmit (P33, P37).
step x stop
step again answers=yes,no need=2 timeout=10m

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    again Waiting, attempt 1, round 1, needs 2, waits until 12:10:00, complete by 12:10:05
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake again/1, at 12:10:00
  due 12:00:30

event failed x/1
----
  Error (forward)
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    again Waiting, attempt 1, round 1, needs 2, waits until 12:10:00
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       x Failed, attempt 1
       again Waiting, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 20m
event answer again/1 yes by=ann
----
12:20:00
  answer a1 accepted: 
    again Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 12:10:00
  attention 12:00:00

event answer again/1 yes by=bob
----
  answer a2 accepted: 
    again Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob
  attention 12:00:00
