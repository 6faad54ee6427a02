# The queue of the application is gone. The order goes on. The statuses are sent again, later and later.
workflow reports
step a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event unsent shop 1 it does not exist
----
  shop has no status from number 1 on: it does not exist; again at 12:01:00
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  shop has no status from number 1 on: it does not exist; again at 12:01:00
  due 12:00:30

wait 30s
sweep
----
12:00:30
supervisor: Overdue{"Step":"b","Attempt":1,"Queue":0}
    b Pending, attempt 1, 1 failed, waits until 12:00:31, complete by 12:00:36
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt b/1 ended: overdue timeout
  -> scheduler: wake b/1, at 12:00:31
  shop has no status from number 1 on: it does not exist; again at 12:01:00
  due 12:00:36

event settle crash
----
  ignored: sent again
  -> shop: started, number 1, 
  -> shop: step-finished, number 2, a   {"of":"a"}
  the process dies before it has sent anything
  shop has no status from number 1 on: it does not exist; again at 12:01:00
  due 12:00:36

event done b/1
----
  Processed
    b Processed, attempt 1, 1 failed
  reported
  shop has no status from number 1 on: it does not exist; again at 12:01:00
  due 12:00:36

wait 1h
sweep
----
13:00:30
supervisor: ResendDue{}
  -> scheduler: settle
  shop has no status from number 1 on: it does not exist; again at 14:00:30
  due 14:00:30

event settle
----
  ignored: sent again
  -> shop: started, number 1, 
  -> shop: step-finished, number 2, a   {"of":"a"}
  -> shop: step-finished, number 3, b   {"of":"b"}
  -> shop: completed, number 4, 
       a Processed, attempt 1
       b Processed, attempt 1
  delivered
  at rest

event settle
----
  ignored: everything was reported before
  at rest
