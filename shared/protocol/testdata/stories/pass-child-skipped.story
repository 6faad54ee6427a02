# An answer to a step that is skipped is not taken.
step a
step e event=data after=a when=false

event parent start 1 a1:data:one
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    e Pending, round 1, ann: "one"
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
    e Skipped, round 1, ann: "one"
  -> parent/1: processed 
  reported
  at rest
