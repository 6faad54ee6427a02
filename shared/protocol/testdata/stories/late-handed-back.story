# P58: a deadline ends retries and polls; it is fixed at the first claim.
step a deadline=1m no-undo
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, late at 12:01:00, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, late at 12:01:00, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

wait 2s
event wake a/1
----
12:00:02
    a Processing, attempt 2, 1 failed, late at 12:01:00, locked by scheduler-1, complete by 12:00:32
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:32 {"order":{"n":1}}
  due 12:00:06

event done a/2 crash
----
    a Processed, attempt 2, 1 failed
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:32
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:32 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  the process dies before it has sent anything
  due 12:00:06

wait 2m
sweep
----
12:02:02
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Pending, attempt 1, 1 failed, waits until 12:02:03, complete by 12:02:08
      error of attempt 1 at 12:02:02, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  -> scheduler: wake b/1, at 12:02:03
  due 12:02:08
