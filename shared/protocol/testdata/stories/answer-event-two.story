# One event stops the order at a step, which refuses it, and answers another: whenever the end is reported again, it is reported as it was (P12, P36).
step b event=bought refuse stop
step c event=bought

event submit
----
  Processing
    b Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    c Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake b/1, at 13:00:00
  -> scheduler: wake c/1, at 13:00:00
  due 13:00:00

event answer bought no by=shop id=a1
----
  answer a1 accepted: 
  Error (forward)
    b Failed, attempt 1, round 1, decided "no" by shop
      error of attempt 1 at 12:00:00, answer-refused: the event bought came with a value that the workflow refuses
    c Processed, attempt 1, round 1, decided "no" by shop
  -> shop: failed, number 1, b answer-refused the event bought came with a value that the workflow refuses
       b Failed, attempt 1
       c Processed, attempt 1
  -> operator: forward of step "b", answer-refused: the event bought came with a value that the workflow refuses (answer to command 0; resubmit; undo)
  reported
  attention 12:00:00

event answer bought no by=shop id=a1
----
  ignored: this command already has a verdict
  answer a1 accepted: 
  attention 12:00:00
