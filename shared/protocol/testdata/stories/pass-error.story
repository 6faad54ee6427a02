# In Error an answer is kept, and sent when the order goes on.
step card repeat=3 until-index=2 passes=data
step x stop

event submit
----
  Processing
    card Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> o1~card~0/1: start {"previous":null,"index":0}
  -> scheduler: wake card/1, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed x/1
----
  Error (forward)
    card Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00
    x Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt x/1 ended: failed refused
  -> shop: failed, number 1, x refused the service refused
       card Waiting, attempt 1
       x Failed, attempt 1
  -> operator: forward of step "x", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer data one id=a1
----
  answer a1 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:10:00
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:20:00, complete by 12:20:00
    x Processing, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  -> scheduler: wake card/1, at 12:20:00
  -> x-agent: do-x (do/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child card 0/1 compensated took=a1
----
  Compensating, because of failure
    card Failed, attempt 1, next 1 of 3, 0 compensated at 12:00:00, 1 failed: [0], failed: it was undone, 1 answers known
      error of attempt 1 at 12:00:00, failed: it was undone
    x Compensating, attempt 3, locked by scheduler-1, complete by 12:00:30
    attempt x/2 ended: superseded
  -> x-agent: undo-x (undo/3), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
