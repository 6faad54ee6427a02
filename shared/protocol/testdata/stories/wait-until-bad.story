# A time that is none is a failing input: the order is undone, and nothing of the same decision was asked (P20).
step a
step w until=tomorrow after=a
step b after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    w Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    w Failed
      error of attempt 0 at 12:00:00, expression: input: the end of the wait is neither a length, like "48h", nor a time in RFC 3339, like "2026-11-21T10:00:00Z"
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30
