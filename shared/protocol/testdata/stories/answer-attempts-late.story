# The time runs over all rounds, and its end opens none. In Error a refused answer waits for the Resubmit.
step approve answers=yes,no refuse attempts=3 timeout-value=no
step b stop

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake approve/1, at 13:00:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed b/1
----
  Error (forward)
    approve Waiting, attempt 1, round 1, waits until 13:00:00
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       approve Waiting, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer approve/1 no by=ann
----
  answer a1 accepted: 
    approve Waiting, attempt 1, round 1, ann: "no", waits until 13:00:00
  attention 12:00:00

event answer approve/1 yes by=bob
----
  answer a2 refused: step approve was decided: "no" by ann
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    approve Waiting, attempt 1, round 2, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no", attempt 1 of 3
    b Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> scheduler: wake approve/1, at 13:00:00
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer approve/2 no by=ann
----
  answer a3 accepted: 
    approve Waiting, attempt 1, round 3, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:00:00, answer-refused: ann answered "no", attempt 2 of 3
  due 12:00:30

wait 1h
event wake approve/1
----
13:00:00
  Compensating, because of failure
    approve Failed, attempt 1, round 3, decided "no" by timeout
      error of attempt 1 at 13:00:00, answer-refused: no answer came in time, which counts as "no"
    b Compensating, attempt 3, locked by scheduler-1, complete by 13:00:30
    attempt b/2 ended: superseded
  -> b-agent: undo-b (undo/3), key o1/0/b, stop by 13:00:30 {"order":{"n":1}}
  due 12:00:30
