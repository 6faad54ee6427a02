# A refused answer that came by a token is not stored (P36).
step approve answers=yes,no

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 13:00:00

event answer approve/2 yes token
----
  ignored: refused: step approve is in round 1, and the answer is for round 2; look at it again
  answer a1 refused: step approve is in round 1, and the answer is for round 2; look at it again
  due 13:00:00

event answer nowhere/1 yes token
----
  ignored: refused: the order has no step nowhere
  answer a2 refused: the order has no step nowhere
  due 13:00:00

event answer approve/1 yes token
----
  answer a3 accepted: 
  Processed
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
  -> shop: completed, number 1, 
       approve Processed, attempt 1
  reported
  at rest
