# P48, P12: a child that never came gets its cancel, although the handling of the Close dies before it sends it. Broken by: a
# Close without a status has no resend time; Settles ignores the cancels.
step a each=x,y

event submit reply-to=
----
  Processing
    a Waiting, attempt 1, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 12:10:05
  -> o1~a~0/1: start {"item":"x","index":0}
  -> o1~a~1/1: start {"item":"y","index":1}
  -> scheduler: wake a/1, at 12:10:00
  due 12:10:05

event child a 0/1 processed
----
    a Waiting, attempt 1, next 2 of 2, open 1, waits until 12:10:00, complete by 12:10:05
  due 12:10:05

event close c1 absent=o1~a~1 crash
----
  close c1 accepted: 
  Closed
  -> o1~a~1/1: cancel {"item":"y","index":1}
  the process dies before it has sent anything
  due 12:01:00

wait 61s
sweep
----
12:01:01
supervisor: ResendDue{}
  -> scheduler: settle
  due 12:02:02

event close c1 absent=o1~a~1
----
  ignored: this command already has a verdict
  close c1 accepted: 
  -> o1~a~1/1: cancel {"item":"y","index":1}
  reported
  at rest
