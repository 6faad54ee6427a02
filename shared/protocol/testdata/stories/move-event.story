# P49, P36: an answer that came early for an event is none for the event that the step waits for after a Move.
step a
step w event=bought after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer bought "yes"
----
  answer a1 accepted: 
    w Pending, round 1, ann: "yes"
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

to step a
to step w event=paid after=a
event move m
----
  move m accepted: 
    w Pending
  due 12:00:06

event answer bought "yes" id=a9
----
  answer a9 refused: no step of the order waits for an event bought
  due 12:00:06

event answer paid "no"
----
  answer a3 accepted: 
    w Pending, round 1, ann: "no"
  due 12:00:06
