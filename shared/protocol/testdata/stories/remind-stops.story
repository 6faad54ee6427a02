# P59: a step that was withdrawn, that has failed, or whose order is undone reminds of nothing. A Resubmit sends again what its handling may not have sent.
step slow remind=20s/20s by=mail grade=idempotent
step either-a remind=1m/1m by=mail deadline=30s grade=idempotent
step b failures=1 stop

event submit
wait 20s
event wake slow/1
event failed b/1
wait 1s
event wake slow/1
event resubmit r1
event done b/2
wait 10s
sweep
wait 25s
sweep
event wake either-a/1
event wake slow/1
event cancel
wait 1m
event wake slow/2
----
  Processing
    slow Processing, attempt 1, reminds by 12:00:25, locked by scheduler-1, complete by 12:00:30
    either-a Processing, attempt 1, late at 12:00:30, reminds by 12:01:05, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> slow-agent: do-slow (do/1), key o1/0/slow, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake slow/1, at 12:00:20
  -> either-a-agent: do-either-a (do/1), key o1/0/either-a, stop by 12:00:30 {"order":{"n":1}}
  -> scheduler: wake either-a/1, at 12:01:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:25
12:00:20
    slow Processing, attempt 1, reminded 1, reminds by 12:00:45, locked by scheduler-1, complete by 12:00:30
  -> mail: tell (do/0), key o1/0/slow/1.1, stop by 12:00:40 {"reminder":1}
  -> scheduler: wake slow/1, at 12:00:40
  due 12:00:25
  Error (forward)
    b Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:20, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       slow Processing, attempt 1
       either-a Processing, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  due 12:00:25
12:00:21
  ignored: the step is not in a state that waits
  due 12:00:25
  resubmit r1 accepted: 
  Processing
    either-a Processing, attempt 1, late at 12:00:51, reminds by 12:01:05, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 2, locked by scheduler-1, complete by 12:00:51
  -> mail: tell (do/0), key o1/0/slow/1.1, stop by 12:00:40 {"reminder":1}
  -> scheduler: wake slow/1, at 12:00:40
  -> scheduler: wake either-a/1, at 12:01:00
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:51 {"order":{"n":1}}
  due 12:00:25
    b Processed, attempt 2
  due 12:00:25
12:00:31
supervisor: Overdue{"Step":"slow","Attempt":1,"Queue":0}
    slow Pending, attempt 1, 1 failed, reminded 1, reminds by 12:00:45, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt slow/1 ended: overdue timeout
  -> scheduler: wake slow/1, at 12:00:32
supervisor: Overdue{"Step":"either-a","Attempt":1,"Queue":0}
    either-a Pending, attempt 1, 1 failed, late at 12:00:51, reminds by 12:01:05, waits until 12:00:32, complete by 12:00:37
      error of attempt 1 at 12:00:31, timeout: no reply by the complete-by time
    attempt either-a/1 ended: overdue timeout
  -> scheduler: wake either-a/1, at 12:00:32
  due 12:00:37
12:00:56
supervisor: Overdue{"Step":"slow","Attempt":1,"Queue":0}
    slow Pending, attempt 1, 1 failed, reminded 1, reminds by 12:01:01, waits until 12:00:32, complete by 12:01:01
  -> scheduler: wake slow/1, now
supervisor: Overdue{"Step":"either-a","Attempt":1,"Queue":0}
    either-a Pending, attempt 1, 1 failed, late at 12:00:51, reminds by 12:01:05, waits until 12:00:32, complete by 12:01:01
  -> scheduler: wake either-a/1, now
supervisor: StepLate{"Step":"either-a","Run":0,"Seq":2}
    either-a Pending, attempt 1, 1 failed, withdrawn: late, waits until 12:00:32, complete by 12:01:01
      error of attempt 1 at 12:00:56, late: the deadline of the step has passed
  due 12:01:01
    slow Processing, attempt 2, 1 failed, reminded 1, reminds by 12:01:01, locked by scheduler-1, complete by 12:01:26
    either-a Compensating, attempt 2, 1 failed, withdrawn: late, locked by scheduler-1, complete by 12:01:26
  -> either-a-agent: undo-either-a (undo/2), key o1/0/either-a, stop by 12:01:26 {"order":{"n":1}}
  -> slow-agent: do-slow (do/2), key o1/0/slow, stop by 12:01:26 {"order":{"n":1}}
  -> scheduler: wake slow/2, at 12:00:40
  due 12:01:01
  ignored: it belongs to an earlier attempt
  -> scheduler: wake slow/2, at 12:00:40
  due 12:01:01
  cancel  accepted: 
  Compensating, because of cancel
    b Compensating, attempt 3, locked by scheduler-1, complete by 12:01:26
  -> b-agent: undo-b (undo/3), key o1/0/b, stop by 12:01:26 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:01:01
12:01:56
  ignored: the step is not in a state that waits
  due 12:01:01
