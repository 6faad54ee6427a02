# P58: an absolute deadline that cannot be computed is the step's failure, and no request is sent.
step a deadline-until=soon

event submit
----
  Compensated, because of failure
    a Failed
      error of attempt 0 at 12:00:00, expression: deadline: the time is neither a length, like "48h", nor a time in RFC 3339, like "2026-11-21T10:00:00Z"
  -> shop: undone, number 1, a expression deadline: the time is neither a length, like "48h", nor a time in RFC 3339, like "2026-11-21T10:00:00Z"
       a Failed, attempt 0
  reported
  at rest
