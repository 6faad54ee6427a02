# P58: the children of a late step are undone.
step parts each={},{} deadline=1h
step b after=parts

event submit
----
  Processing
    parts Waiting, attempt 1, next 2 of 2, open 0, open 1, late at 13:00:00, waits until 12:10:00, complete by 12:10:05
    b Pending
  -> o1~parts~0/1: start {"item":"{}","index":0}
  -> o1~parts~1/1: start {"item":"{}","index":1}
  -> scheduler: wake parts/1, at 12:10:00
  due 12:10:05

wait 61m
sweep
----
13:01:00
supervisor: Overdue{"Step":"parts","Attempt":1,"Queue":0}
    parts Waiting, attempt 1, next 2 of 2, open 0, open 1, late at 13:00:00, waits until 12:10:00, complete by 13:01:05
  -> scheduler: wake parts/1, now
supervisor: StepLate{"Step":"parts","Run":0,"Seq":1}
    parts Waiting, attempt 1, withdrawn: late, next 2 of 2, open 0, open 1, waits until 12:10:00, complete by 13:01:05
      error of attempt 1 at 13:01:00, late: the deadline of the step has passed
  due 13:01:05

event wake parts/1
----
    parts Waiting, attempt 2, withdrawn: late, next 2 of 2, open 0, open 1, waits until 13:11:00, complete by 13:11:05
  -> o1~parts~0/2: undo {"item":"{}","index":0}
  -> o1~parts~1/2: undo {"item":"{}","index":1}
  -> scheduler: wake parts/2, at 13:11:00
  due 13:01:05
