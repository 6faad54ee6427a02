# The children that are enough end while the order is in Error. A later end changes nothing, and the resubmit has it undone.
step ship each=a,b,c enough=1
step x stop

event submit
----
  Processing
    ship Waiting, attempt 1, next 3 of 3, 1 are enough, open 0, open 1, open 2, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: start {"item":"a","index":0}
  -> o1~ship~1/1: start {"item":"b","index":1}
  -> o1~ship~2/1: start {"item":"c","index":2}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    ship Waiting, attempt 1, next 3 of 3, 1 are enough, open 0, open 1, open 2, waits until 12:10:00
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       ship Waiting, attempt 1
       x Failed, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event child ship 1/1 processed
----
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0, open 2
  attention 12:00:00

event child ship 0/1 processed
----
  ignored: the child is to be undone, and is not yet
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 0, open 2, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> o1~ship~0/1: undo {"item":"a","index":0}
  -> o1~ship~2/1: undo {"item":"c","index":2}
  -> scheduler: wake ship/1, at 12:10:00
  -> x-agent: do-x (do/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child ship 0/1 compensated
----
    ship Settling, attempt 1, next 3 of 3, 1 are enough, open 2, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event done x/2
----
    x Processed, attempt 2
  due 12:00:30

event child ship 2/1 compensated
----
  Processed
    ship Processed, attempt 1, next 3 of 3, 1 are enough
  -> shop: completed, number 2, 
       ship Processed, attempt 1
       x Processed, attempt 2
  reported
  at rest
