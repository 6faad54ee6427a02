# An answer that comes with the start decides its step when it begins. A value that no step allows is refused for good.
step a
step e event=data after=a schema

event parent start 1 a1:data:{} a2:data:two
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    e Pending, round 1, ann: "two"
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
    e Processed, attempt 1, round 1, decided "two" by ann
  -> parent/1: processed , took 2
  reported
  at rest
