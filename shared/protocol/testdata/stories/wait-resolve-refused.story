# P34. A wait takes no other fact and no output, and none before it has begun.
step w wait=24h
step v wait=24h after=w

event submit
----
  Processing
    w Waiting, attempt 1, waits until day 1 12:00:00, complete by day 1 12:00:00
    v Pending
  -> scheduler: wake w/1, at day 1 12:00:00
  due day 1 12:00:00

event resolve r w undone
----
  resolve r refused: the step is a wait, so nothing of it is in doubt; fix: state happened, which ends the wait now
  due day 1 12:00:00

event resolve r2 w happened output={}
----
  resolve r2 refused: the step is a wait, which has no output; fix: leave the output out
  due day 1 12:00:00

event resolve r3 v happened
----
  resolve r3 refused: only an order in Error takes a fact; this one is Processing
  due day 1 12:00:00
