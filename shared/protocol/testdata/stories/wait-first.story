# What ends at once comes before the requests of the same decision: b, which that makes ready, fails, and so a is
# never asked (P20).
step a
step v until=-1h
step b after=v input=fails

event submit
----
  Compensated, because of failure
    a Pending
    v Compensated, attempt 1
    b Failed
      error of attempt 0 at 12:00:00, expression: input: no such field
  -> shop: undone, number 1, b expression input: no such field
       a Pending, attempt 0
       v Compensated, attempt 1
       b Failed, attempt 0
  reported
  at rest
