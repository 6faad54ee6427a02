# Who may answer depends on a step that has not ended: an early answer is accepted with that condition, and a verdict says at the claim
# that it does not count (P36).
step a
step approve answers=yes,no not=eve reads=a after=a

event submit
event answer approve/1 yes by=eve
event done a/1
event answer approve/1 yes by=eve
event answer approve/1 yes by=ann
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
  answer a1 accepted: step approve has not begun; the answer counts if eve may answer it then
    approve Pending, round 1, eve: "yes"
  due 12:00:30
    a Processed, attempt 1
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30
  answer a2 refused: eve is excluded from answering this step (notSelf)
  due 12:00:30
  answer a3 accepted: 
  Processed
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
  -> shop: completed, number 1, 
       a Processed, attempt 1
       approve Processed, attempt 1
  reported
  at rest
