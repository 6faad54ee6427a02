# The value that stands for the answer is a refusal like any other.
step approve answers=yes,no refuse stop timeout=10m timeout-value=no

event submit
----
  Processing
    approve Waiting, attempt 1, round 1, waits until 12:10:00, complete by 12:10:05
  -> scheduler: wake approve/1, at 12:10:00
  due 12:10:05

wait 10m
event wake approve/1
----
12:10:00
  Error (forward)
    approve Failed, attempt 1, round 1, decided "no" by timeout
      error of attempt 1 at 12:10:00, answer-refused: no answer came in time, which counts as "no"
  -> shop: failed, number 1, approve answer-refused no answer came in time, which counts as "no"
       approve Failed, attempt 1
  -> operator: forward of step "approve", answer-refused: no answer came in time, which counts as "no" (answer to command 0; resubmit; undo)
  reported
  attention 12:10:00
