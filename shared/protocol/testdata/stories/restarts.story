# P32. A restart loses the request, and says nothing about how long requests wait: a step that many restarts hit is
# asked again as soon as before. Broken by: backlog doubles the allowance for a lost queue.
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 30s
event overdue a/1 queue=passed
----
12:00:30
    a Pending, attempt 1, waits until 12:00:30, complete by 12:00:35
    attempt a/1 ended: overdue queue
  -> scheduler: wake a/1, at 12:00:30
  due 12:00:35

event wake a/1
----
    a Processing, attempt 2, locked by scheduler-1, complete by 12:01:00
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:01:00 {"order":{"n":1}}
  due 12:00:35

wait 30s
event overdue a/2 queue=passed
----
12:01:00
    a Pending, attempt 2, waits until 12:01:00, complete by 12:01:05
    attempt a/2 ended: overdue queue
  -> scheduler: wake a/2, at 12:01:00
  due 12:01:05

event wake a/2
----
    a Processing, attempt 3, locked by scheduler-1, complete by 12:01:30
  -> a-agent: do-a (do/3), key o1/0/a, stop by 12:01:30 {"order":{"n":1}}
  due 12:01:05

wait 30s
event overdue a/3 queue=passed
----
12:01:30
    a Pending, attempt 3, waits until 12:01:30, complete by 12:01:35
    attempt a/3 ended: overdue queue
  -> scheduler: wake a/3, at 12:01:30
  due 12:01:35

event wake a/3
----
    a Processing, attempt 4, locked by scheduler-1, complete by 12:02:00
  -> a-agent: do-a (do/4), key o1/0/a, stop by 12:02:00 {"order":{"n":1}}
  due 12:01:35
