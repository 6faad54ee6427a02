workflow output=fails
step a when=fails stop

event submit
----
  Error (forward)
    a Failed
      error of attempt 0 at 12:00:00, expression: when: no such field
  -> shop: failed, number 1, a expression when: no such field
       a Failed, attempt 0
  -> operator: forward of step "a", expression: when: no such field (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event undo u1
----
  undo u1 accepted: 
  Compensated, because of operator
  -> shop: undone, number 2, a expression when: no such field
       a Failed, attempt 0
  reported
  at rest
