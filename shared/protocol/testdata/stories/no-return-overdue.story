# P19, P22. After the claim of a point of no return every failing step stops the order, whatever its own policy is.
# Broken by: mustStop looks at the step's policy only.
step beside failures=1
step final no-return

event submit
----
  Processing
    beside Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    final Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> beside-agent: do-beside (do/1), key o1/0/beside, stop by 12:00:30 {"order":{"n":1}}
  -> final-agent: do-final (do/1), key o1/0/final, stop by 12:00:30, point of no return {"order":{"n":1}}
  due 12:00:30

wait 1h
event overdue beside/1
----
13:00:00
  Error (forward)
    beside Failed, attempt 1, 1 failed
      error of attempt 1 at 13:00:00, timeout: no reply by the complete-by time
    attempt beside/1 ended: overdue timeout
  -> scheduler: settle
  due 12:00:30
