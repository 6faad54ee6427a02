# Of the answers that its parent passes on, an event with attempts takes as many as may decide it, each in its round.
# The parent keeps those that decided no round.
step x
step paid event=paid refuse attempts=2 after=x

event parent start 1 p1:paid:no p2:paid:no p3:paid:yes
----
  Processing
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    paid Pending, round 1, ann: "no", ann: "no"
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done x/1
----
  Compensating, because of failure
    x Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    paid Compensated, attempt 1, round 2, decided "no" by ann
      error of attempt 1 at 12:00:00, answer-refused: the event paid came with a value that the workflow refuses, attempt 2 of 2
  -> x-agent: undo-x (undo/2), key o1/0/x, stop by 12:00:30 {"order":{"n":1},"seen":{"x":{"of":"x"}}}
  due 12:00:30

event undone x/2
----
  Compensated, because of failure
    x Compensated, attempt 2
  -> parent/1: compensated answer-refused the event paid came with a value that the workflow refuses, attempt 2 of 2, took 2
  reported
  at rest
