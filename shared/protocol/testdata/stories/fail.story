# A failure by rule (P50): the step is not claimed, and what was done before it is undone. A run that is begun again meets the rule again.
step a
step large fail=too-large when=true after=a
step w wait=0s after=a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    large Pending
    w Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    large Failed
      error of attempt 0 at 12:00:00, too-large: it is refused by rule
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, large too-large it is refused by rule
       a Compensated, attempt 2
       large Failed, attempt 0
       w Pending, attempt 0
       b Pending, attempt 0
  reported
  at rest

event resubmit
----
  resubmit  accepted: 
  Processing, run 1
    a Processing, attempt 3, locked by scheduler-1, complete by 12:00:30
    large Pending
  -> a-agent: do-a (do/3), key o1/1/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
