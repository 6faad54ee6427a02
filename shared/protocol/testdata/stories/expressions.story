# An expression that fails is the permanent failure of its step. Nothing was asked for, so there
# is nothing to undo of it; and none of the others is claimed in the same decision.
step a
step b after=a
step c after=a input=fails

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    c Failed
      error of attempt 0 at 12:00:00, expression: input: no such field
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, c expression input: no such field
       a Compensated, attempt 2
       b Pending, attempt 0
       c Failed, attempt 0
  reported
  at rest
