# A time of more than 366 days ahead is refused; with stop, the operator changes the cause and resubmits.
step w until=8785h stop

event submit
----
  Error (forward)
    w Failed
      error of attempt 0 at 12:00:00, expression: input: the end of the wait lies more than 366 days ahead
  -> shop: failed, number 1, w expression input: the end of the wait lies more than 366 days ahead
       w Failed, attempt 0
  -> operator: forward of step "w", expression: input: the end of the wait lies more than 366 days ahead (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  -> shop: failed, number 2, w expression input: the end of the wait lies more than 366 days ahead
       w Failed, attempt 0
  -> operator: forward of step "w", expression: input: the end of the wait lies more than 366 days ahead (answer to command 1; resubmit; undo)
  reported
  attention 12:00:00
