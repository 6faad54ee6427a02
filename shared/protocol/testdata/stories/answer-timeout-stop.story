# The time has a policy of its own; the operator has the step asked again, in the next round and with a new time.
step approve answers=yes,no timeout=10m on-timeout=stop

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
  -> scheduler: wake approve/1, at 12:10:00
  due 12:10:05

wait 10m
event wake approve/1
----
12:10:00
  Error (forward)
    approve Failed, attempt 1, round 1, decided null by timeout
      error of attempt 1 at 12:10:00, answer-timeout: no answer came in time
  -> shop: failed, number 1, approve answer-timeout no answer came in time
       approve Failed, attempt 1
  -> operator: forward of step "approve", answer-timeout: no answer came in time (answer to command 0; resubmit; undo)
  reported
  attention 12:10:00

wait 5m
event answer approve/1 yes by=ann
----
12:15:00
  answer a1 refused: the time for an answer to step approve was over at 2026-11-21T12:10:00.000Z
  attention 12:10:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    approve Waiting, attempt 2, round 2, waits until 12:25:00, complete by 12:25:05
  -> scheduler: wake approve/2, at 12:25:00
  due 12:25:05

event answer approve/2 yes by=ann
----
  answer a2 accepted: 
  Processed
    approve Processed, attempt 2, round 2, ann: "yes", decided "yes" by ann
  -> shop: completed, number 2, 
       approve Processed, attempt 2
  reported
  at rest
