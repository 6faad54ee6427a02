# Where the first items are bad already, no child is started.
step ship each=bad,a at-once=2

event submit
----
  Compensated, because of failure
    ship Compensated, attempt 2, next 1 of 2, 1 failed: [0], expression: the order of child 0: no such field
      error of attempt 1 at 12:00:00, children-failed: 1 of 2 children failed, 0 may; the first: child 0, expression: the order of child 0: no such field
  -> shop: undone, number 1, ship children-failed 1 of 2 children failed, 0 may; the first: child 0, expression: the order of child 0: no such field
       ship Compensated, attempt 2
  reported
  at rest
