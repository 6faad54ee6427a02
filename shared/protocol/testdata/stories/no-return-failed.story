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
event failed beside/1
----
13:00:00
  Error (forward)
    beside Failed, attempt 1, 1 failed
      error of attempt 1 at 13:00:00, refused: the service refused
    attempt beside/1 ended: failed refused
  -> shop: failed, number 1, beside refused the service refused
       beside Failed, attempt 1
       final Processing, attempt 1
  -> operator: forward of step "beside", refused: the service refused (answer to command 0; resubmit; resolve)
  reported
  due 12:00:30
