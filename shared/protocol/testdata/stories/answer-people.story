# Several people: one vote each, as many of the same value as are needed (P35).
step approve answers=yes,no need=2 who=ann,bob,cleo

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, needs 2, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 13:00:00

event answer approve/1 yes by=dan
----
  answer a1 refused: dan is not among those who may answer this step
  due 13:00:00

event answer approve/1 yes by=ann
----
  answer a2 accepted: 
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", waits until 13:00:00, complete by 13:00:00
  due 13:00:00

event answer approve/1 no by=ann
----
  answer a3 refused: ann has answered step approve before, with "yes" at 2026-11-21T12:00:00.000Z
  due 13:00:00

event answer approve/1 no by=bob
----
  answer a4 accepted: 
    approve Waiting, attempt 1, round 1, needs 2, ann: "yes", bob: "no", waits until 13:00:00, complete by 13:00:00
  due 13:00:00

event answer approve/1 yes by=cleo
----
  answer a5 accepted: 
  Processed
    approve Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "no", cleo: "yes", decided "yes" by ann, cleo
  -> shop: completed, number 1, 
       approve Processed, attempt 1
  reported
  at rest
