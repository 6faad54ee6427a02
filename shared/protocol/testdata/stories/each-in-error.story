# In Error the ends of children are recorded, and start nothing (P33).
step ship each=a,b,c at-once=1
step x stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    ship Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       ship Waiting, attempt 1
       x Failed, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 31s
event close c0
----
12:00:31
  close c0 refused: step ship has children that have not ended, for instance o1~ship~0; end those first
  attention 12:00:00

event child ship 0/1 processed
----
    ship Waiting, attempt 1, next 1 of 3, waits until 12:10:00
  attention 12:00:00

event close c1
----
  close c1 refused: a call of step x may still take effect; wait until 2026-11-21T12:00:31.001Z
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Waiting, attempt 1, next 2 of 3, open 1, waits until 12:20:31, complete by 12:20:31
    x Processing, attempt 2, locked by scheduler-1, complete by 12:01:01
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> scheduler: wake ship/1, at 12:20:31
  -> x-agent: do-x (do/2), key o1/0/x, stop by 12:01:01 {"order":{"n":1}}
  due 12:01:01

event child ship 1/1 processed
----
    ship Waiting, attempt 1, next 3 of 3, open 2, waits until 12:20:31, complete by 12:20:31
  -> o1~ship~2/1: start {"item":"c","index":2}
  due 12:01:01

event done x/2
----
    x Processed, attempt 2
  due 12:01:01

event child ship 2/1 processed
----
  Processed
    ship Processed, attempt 1, next 3 of 3
  -> shop: completed, number 2, 
       ship Processed, attempt 1
       x Processed, attempt 2
  reported
  at rest
