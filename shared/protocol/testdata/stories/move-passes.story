# P49, P56: an answer that is kept for an event is none for the event that the block waits for after a Move. A child
# that has started keeps its definition, so that what was accepted for it stays until it ends.
step a
step card after=a repeat=3 until-index=2 passes=data

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    card Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer data 1 id=a1
----
  answer a1 accepted: passed on to step card
    card Pending, 1 answers known, passes a1
  due 12:00:30

event later a/1
----
    a Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt a/1 ended: retry-later http-503
  -> scheduler: wake a/1, at 12:00:01
  due 12:00:06

to step a
to step card after=a repeat=3 until-index=2 passes=paid
event move m1
----
  move m1 accepted: 
    card Pending, 1 answers known
  due 12:00:06

event answer paid 2 id=a2
----
  answer a2 accepted: passed on to step card
    card Pending, 2 answers known, passes a2
  due 12:00:06

wait 1s
event wake a/1
event done a/2
----
12:00:01
    a Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> a-agent: do-a (do/2), key o1/0/a, stop by 12:00:31 {"order":{"n":1}}
  due 12:00:06
    a Processed, attempt 2, 1 failed
    card Waiting, attempt 1, next 1 of 3, open 0, 2 answers known, passes a2, waits until 12:10:01, complete by 12:10:06
  -> o1~card~0/1: start {"previous":null,"index":0}, a2: paid 2
  -> scheduler: wake card/1, at 12:10:01
  due 12:00:06

to step a
to step card after=a repeat=3 until-index=2 passes=other
event move m2
----
  move m2 accepted: 
  due 12:00:06

event answer paid 3 id=a3
----
  answer a3 refused: no step of the order waits for an event paid
  due 12:00:06

event child card 0/1 processed
----
    card Waiting, attempt 1, next 2 of 3, open 1, 0 processed at 12:00:01, 2 answers known, waits until 12:10:01, complete by 12:10:06
  -> o1~card~1/1: start {"item":{"n":0},"index":1}
  due 12:00:06
