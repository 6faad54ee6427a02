# More than the list has is a mistake of the order.
step ship each=a,b enough=3

event submit
----
  Compensated, because of failure
    ship Failed
      error of attempt 0 at 12:00:00, expression: input: enough must be a whole number from 1 to 2, the number of elements of each
  -> shop: undone, number 1, ship expression input: enough must be a whole number from 1 to 2, the number of elements of each
       ship Failed, attempt 0
  reported
  at rest
