# In Error an end is recorded, and the next iteration starts after a Resubmit.
step ship repeat=5 until-index=1
step x stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"previous":null,"index":0}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    ship Waiting, attempt 1, next 1 of 5, open 0, waits until 12:10:00
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       ship Waiting, attempt 1
       x Failed, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 1 of 5, 0 processed at 12:00:00, waits until 12:10:00
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Waiting, attempt 1, next 2 of 5, open 1, 0 processed at 12:00:00, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~1/1: start {"item":{"n":0},"index":1}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 1/1 processed
----
    ship Processed, attempt 1, next 2 of 2, 0 processed at 12:00:00, 1 processed at 12:00:00
  due 12:00:30

event done x/2
----
  Processed
    x Processed, attempt 2
  -> shop: completed, number 2, 
       ship Processed, attempt 1
       x Processed, attempt 2
  reported
  at rest
