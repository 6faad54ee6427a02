# A question that cannot be is a failing input: more than are permitted are needed.
step approve answers=yes,no need=2 who=ann,bob not=bob

event submit
----
  Compensated, because of failure
    approve Failed
      error of attempt 0 at 12:00:00, expression: input: fewer people may answer than are needed
  -> shop: undone, number 1, approve expression input: fewer people may answer than are needed
       approve Failed, attempt 0
  reported
  at rest
