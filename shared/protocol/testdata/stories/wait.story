# A wait: a delayed message ends it at its time, and what comes after it is claimed in the same decision (P34).
step a
step w wait=30s after=a
step b after=w

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    w Waiting, attempt 1, waits until 12:00:30, complete by 12:00:35
  -> scheduler: wake w/1, at 12:00:30
  due 12:00:30

# The reply comes again: the Wake is sent again (P12).
event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> scheduler: wake w/1, at 12:00:30
  due 12:00:30

wait 10s
event wake w/1
----
12:00:10
  ignored: its wait is not over
  due 12:00:30

# A reply to it means nothing (P33).
event done w/1
----
  ignored: the step asks no agent
  due 12:00:30

wait 20s
event wake w/1
----
12:00:30
    w Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:01:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:00 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event wake w/1
----
  ignored: the step is not in a state that waits
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:01:00 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done b/1
----
  Processed
    b Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
       w Processed, attempt 1
       b Processed, attempt 1
  reported
  at rest
