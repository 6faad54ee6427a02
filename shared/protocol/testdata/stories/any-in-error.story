# P54: of two members that end while the order is in Error only the first one decides; the other one is undone after the Resubmit.
workflow reports
step x stop
step decided-one continue
step decided-two continue grade=idempotent
step decided any=one,two
step c after=decided,x

event submit
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
    c Pending
  -> shop: started, number 1, 
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 2, x refused the service refused
       x Failed, attempt 1
       decided-one Processing, attempt 1
       decided-two Processing, attempt 1
       decided Waiting, attempt 1
       c Pending, attempt 0
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:30

event done decided-two/1
----
    decided-one Processing, attempt 1, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    decided-two Processed, attempt 1
    decided Settling, attempt 1, won: two
  due 12:00:30

event done decided-one/1
----
    decided-one UndoWait, attempt 1, withdrawn: overtaken
  attention 12:00:00

event resubmit
----
  resubmit  accepted: 
  Processing
    x Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
    decided-one Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 3, 
  -> shop: step-finished, number 4, decided-two   {"of":"decided-two"}
  -> shop: step-finished, number 5, decided   {"of":"decided-two"}
  -> decided-one-agent: undo-decided-one (undo/2), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> x-agent: do-x (do/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done x/2
----
    x Processed, attempt 2
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 6, x   {"of":"x"}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"decided":{"of":"decided-two"},"decided-two":{"of":"decided-two"},"x":{"of":"x"}}}
  due 12:00:30

event undone decided-one/2
----
    decided-one Compensated, attempt 2, withdrawn: overtaken
    decided Processed, attempt 1, won: two
  due 12:00:30

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: step-finished, number 7, c   {"of":"c"}
  -> shop: completed, number 8, 
       x Processed, attempt 2
       decided-one Compensated, attempt 2
       decided-two Processed, attempt 1
       decided Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
