# An event that no step of the order waits for goes to the open iteration of the step that passes it on. What the iteration
# does not take waits for the next one.
step card repeat=3 until-index=2 passes=data

event submit
----
  Processing
    card Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}
  -> scheduler: wake card/1, at 12:10:00
  due 12:10:05

event answer data one id=a1
----
  answer a1 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  due 12:10:05

event answer data one id=a1
----
  ignored: this command already has a verdict
  answer a1 accepted: passed on to step card
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  due 12:10:05

event answer data two id=a2
----
  answer a2 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, open 0, 2 answers known, passes a1, passes a2, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one", a2: data "two"
  due 12:10:05

event child card 0/1 processed took=a1
----
    card Waiting, attempt 1, next 2 of 3, open 1, 0 processed at 12:00:00, 2 answers known, passes a2, waits until 12:10:00, complete by 12:10:05
  -> o1~card~1/1: start {"item":{"n":0},"index":1}, a2: data "two"
  due 12:10:05

event child card 0/1 processed took=a1
----
  ignored: nothing is expected of that child: a duplicate, or overtaken
  -> o1~card~1/1: start {"item":{"n":0},"index":1}, a2: data "two"
  due 12:10:05

event child card 1/1 processed
----
    card Waiting, attempt 1, next 3 of 3, open 2, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 answers known, passes a2, waits until 12:10:00, complete by 12:10:05
  -> o1~card~2/1: start {"item":{"n":1},"index":2}, a2: data "two"
  due 12:10:05

event answer data {} id=a3
----
  answer a3 refused: the value is not of the event's shape: it is an object
  due 12:10:05

event answer other one id=a4
----
  answer a4 refused: no step of the order waits for an event other
  due 12:10:05

event child card 2/1 processed took=a2
----
  Processed
    card Processed, attempt 1, next 3 of 3, 0 processed at 12:00:00, 1 processed at 12:00:00, 2 processed at 12:00:00, 2 answers known
  -> shop: completed, number 1, 
       card Processed, attempt 1
  reported
  at rest

event answer data three id=a5
----
  answer a5 refused: the order no longer goes forward; it is Processed
  at rest
