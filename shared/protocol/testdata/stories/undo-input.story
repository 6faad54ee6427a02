# The input of an undo cannot be computed: a retry would fail in the same way.
step a undo-input=fails

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed a/1
----
  Error (undo), because of failure
    a UndoWait, attempt 1, 1 failed
      error of attempt 0 at 12:00:00, expression: undo input: no such field
    attempt a/1 ended: failed refused
  -> shop: failed, number 1, a expression undo input: no such field
       a UndoWait, attempt 1
  -> operator: undo of step "a", expression: undo input: no such field (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

wait 32s
event resolve x1 a undone
----
12:00:32
  resolve x1 accepted: 
    a Compensated, attempt 1, 1 failed
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Compensated, because of failure
  -> shop: undone, number 2, a refused the service refused
       a Compensated, attempt 1
  reported
  at rest
