# The process dies, and its queues with it. At the start everything under way is emitted again
# from the document (P27).
step a
step b
step c after=b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

event done b/1
----
    b Processed, attempt 1
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:06

restart
----
  -> scheduler: wake a/1, at 12:00:01
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:06

wait 31s
sweep
----
12:00:31
supervisor: Overdue{"Step":"a","Attempt":1,"Queue":0}
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:36
  -> scheduler: wake a/1, now
supervisor: Overdue{"Step":"c","Attempt":1,"Queue":0}
    c Pending, attempt 1, 1 failed, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt c/1 ended: overdue timeout
  -> scheduler: wake c/1, at 12:00:32
  due 12:00:36

restart
----
  -> scheduler: wake a/1, at 12:00:01
  -> scheduler: wake c/1, at 12:00:32
  due 12:00:36

event failed c/1 run=0 crash
----
  ignored: this is not asked for now: a duplicate, or overtaken
  the process dies before it has sent anything
  due 12:00:36

event cancel c1 crash
----
  cancel c1 accepted: 
  Compensating, because of cancel
    c Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:01
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:01:01 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  the process dies before it has sent anything
  due 12:00:36

restart
----
  -> scheduler: wake a/1, now
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:01:01 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:36
