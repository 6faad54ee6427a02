# More than the list has is a mistake of the order.
step ship each=a,b enough=3

event submit
----
  Compensated, because of failure
    ship Failed
      error of attempt 0 at 12:00:00, expression: input: enough is less than 1, or more than the 2 elements of each: write a number between them
  -> shop: undone, number 1, ship expression input: enough is less than 1, or more than the 2 elements of each: write a number between them
       ship Failed, attempt 0
  reported
  at rest
