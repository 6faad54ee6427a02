# Two steps without a reply. One service has a fence: its undo may come at once. The other has
# none: its undo waits until no copy of the request can act any more (P21).
step fenced failures=1
step slow grade=idempotent failures=1

event submit
----
  Processing
    fenced Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    slow Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fenced-agent: do-fenced (do/1), key o1/0/fenced, stop by 12:00:30 {"order":{"n":1}}
  -> slow-agent: do-slow (do/1), key o1/0/slow, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 30s
sweep
----
12:00:30
supervisor: Overdue{"Step":"fenced","Attempt":1,"Queue":0}
  Compensating, because of failure
    fenced Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt fenced/1 ended: overdue timeout
supervisor: Overdue{"Step":"slow","Attempt":1,"Queue":0}
    slow UndoWait, attempt 1, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:30, timeout: no reply by the complete-by time
    attempt slow/1 ended: overdue timeout
  -> scheduler: wake slow/1, at 12:00:31.001
  due 12:00:36.001

# No agent can be at work on slow by its stopBy and a second of clock skew, 12:00:31.
event wake slow/1
----
  ignored: the order waits for something else
  due 12:00:36.001

wait 1001ms
event wake slow/1
----
12:00:31.001
    slow Compensating, attempt 2, locked by scheduler-1, complete by 12:01:01.001
  -> slow-agent: undo-slow (undo/2), key o1/0/slow, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:36.001

event undone slow/2
----
    fenced Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:01:01.001
    slow Compensated, attempt 2
  -> fenced-agent: undo-fenced (undo/2), key o1/0/fenced, stop by 12:01:01.001 {"order":{"n":1}}
  due 12:00:36.001

event undone fenced/2
----
  Compensated, because of failure
    fenced Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, fenced timeout no reply by the complete-by time
       fenced Compensated, attempt 2
       slow Compensated, attempt 2
  reported
  at rest
