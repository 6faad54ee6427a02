# A look takes answers before the time, although it has passed (P36).
step x stop
step approve answers=yes,no refuse timeout=10m
step late answers=yes,no timeout=10m on-timeout=stop

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
    late Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake approve/1, at 12:10:00
  -> scheduler: wake late/1, at 12:10:00
  due 12:00:30

event failed x/1
----
  Error (forward)
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    approve Waiting, attempt 1, round 1, waits until 12:10:00
    late Waiting, attempt 1, round 1, waits until 12:10:00
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       x Failed, attempt 1
       approve Waiting, attempt 1
       late Waiting, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer approve/1 no by=ann
----
  answer a1 accepted: 
    approve Waiting, attempt 1, round 1, ann: "no", waits until 12:10:00
  attention 12:00:00

wait 20m
event resubmit r1
----
12:20:00
  resubmit r1 accepted: 
  Compensating, because of failure
    x Compensating, attempt 2, locked by scheduler-1, complete by 12:20:30
    approve Compensated, attempt 1, round 1, ann: "no", decided "no" by ann
      error of attempt 1 at 12:20:00, answer-refused: ann answered "no"
    late Compensated, attempt 1, round 1, decided null by timeout
      error of attempt 1 at 12:20:00, answer-timeout: no answer came in time
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:20:30 {"order":{"n":1}}
  due 12:20:30
