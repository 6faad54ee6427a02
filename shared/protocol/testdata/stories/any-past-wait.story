# P54: a time that has passed decides before a call is claimed.
step a
step decided-due until=-1s continue after=a
step decided-work continue after=a
step decided any=due,work after=a
step c after=decided

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-due Pending
    decided-work Pending
    decided Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    decided-due Processed, attempt 1
    decided-work Skipped
    decided Processed, attempt 1, won: due
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
       decided-due Processed, attempt 1
       decided-work Skipped, attempt 0
       decided Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
