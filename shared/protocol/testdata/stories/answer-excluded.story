# After the decision who may not answer is refused too, and the verdict of a later person names who decided before (P36).
step approve answers=yes,no who=ann,bob
step b after=approve

event submit
event answer approve/1 yes by=ann
event answer approve/1 yes by=eve
event answer approve/1 no by=eve
event answer approve/1 yes by=bob
event answer approve/1 no by=bob
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Pending
  -> scheduler: wake approve/1, at 13:00:00
  due 13:00:00
  answer a1 accepted: 
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"approve":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30
  answer a2 refused: eve is not among those who may answer this step
  due 12:00:30
  answer a3 refused: eve is not among those who may answer this step
  due 12:00:30
  answer a4 accepted: step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by ann
  due 12:00:30
  answer a5 refused: step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by ann
  due 12:00:30
