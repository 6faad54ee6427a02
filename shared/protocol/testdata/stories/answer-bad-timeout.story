# A time of more than 366 days, or none, is a failing input. Early answers are kept for the Resubmit.
step approve answers=yes,no timeout=367d stop

event submit
----
  Error (forward)
    approve Failed
      error of attempt 0 at 12:00:00, expression: input: timeout must be more than 0 and at most 366 days
  -> shop: failed, number 1, approve expression input: timeout must be more than 0 and at most 366 days
       approve Failed, attempt 0
  -> operator: forward of step "approve", expression: input: timeout must be more than 0 and at most 366 days (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event answer approve/1 yes by=ann
----
  answer a1 accepted: step approve has not begun; the answer counts if ann may answer it then
    approve Failed, round 1, ann: "yes"
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  -> shop: failed, number 2, approve expression input: timeout must be more than 0 and at most 366 days
       approve Failed, attempt 0
  -> operator: forward of step "approve", expression: input: timeout must be more than 0 and at most 366 days (answer to command 1; resubmit; undo)
  reported
  attention 12:00:00
