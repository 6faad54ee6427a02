# Answers that come before the block begins, or between two iterations, start with it. The ninth is refused.
step a
step card after=a repeat=3 until-index=2 every=1m passes=data

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    card Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer data early id=a1
----
  answer a1 accepted: passed on to step card
    card Pending, 1 answers known, passes a1
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "early"
  -> scheduler: wake card/1, at 12:10:00
  due 12:00:30

event child card 0/1 processed took=a1
----
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 1 answers known, waits until 12:01:00, complete by 12:01:05
  -> scheduler: wake card/1, at 12:01:00
  due 12:00:30

event answer data 2 id=a2
----
  answer a2 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 2 answers known, passes a2, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 3 id=a3
----
  answer a3 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 3 answers known, passes a2, passes a3, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 4 id=a4
----
  answer a4 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 4 answers known, passes a2, passes a3, passes a4, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 5 id=a5
----
  answer a5 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 5 answers known, passes a2, passes a3, passes a4, passes a5, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 6 id=a6
----
  answer a6 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 6 answers known, passes a2, passes a3, passes a4, passes a5, passes a6, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 7 id=a7
----
  answer a7 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 7 answers known, passes a2, passes a3, passes a4, passes a5, passes a6, passes a7, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 8 id=a8
----
  answer a8 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 8 answers known, passes a2, passes a3, passes a4, passes a5, passes a6, passes a7, passes a8, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 9 id=a9
----
  answer a9 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, 0 processed at 12:00:00, 9 answers known, passes a2, passes a3, passes a4, passes a5, passes a6, passes a7, passes a8, passes a9, waits until 12:01:00, complete by 12:01:05
  due 12:00:30

event answer data 10 id=a10
----
  answer a10 refused: step card holds 8 answers until its child order ends; send this one under a new ID then, or to the child order itself
  due 12:00:30

wait 1m
event wake card/1
----
12:01:00
    card Waiting, attempt 1, next 2 of 3, open 1, 0 processed at 12:00:00, 9 answers known, passes a2, passes a3, passes a4, passes a5, passes a6, passes a7, passes a8, passes a9, waits until 12:11:00, complete by 12:11:05
  -> o1~card~1/1: start {"item":{"n":0},"index":1}, a2: data 2, a3: data 3, a4: data 4, a5: data 5, a6: data 6, a7: data 7, a8: data 8, a9: data 9
  -> scheduler: wake card/1, at 12:11:00
  due 12:00:30

event cancel c1
----
  cancel c1 accepted: 
  Compensating, because of cancel
    card Waiting, attempt 2, next 2 of 3, open 1, 0 processed at 12:00:00, undone down to 1, 9 answers known, waits until 12:11:00, complete by 12:11:05
  -> o1~card~1/2: undo {"item":{"n":0},"index":1}
  -> scheduler: wake card/2, at 12:11:00
  due 12:00:30

event answer data 11 id=a11
----
  answer a11 refused: the order no longer goes forward; it is Compensating
  due 12:00:30
