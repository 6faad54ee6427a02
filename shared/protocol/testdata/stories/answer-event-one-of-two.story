# An event counts for one step, and was decided before in the same way for the other one: its sender is told no more than that it
# is accepted.
step first event=bought
step second event=bought refuse attempts=3

event submit
----
  Processing
    first Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    second Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake first/1, at 13:00:00
  -> scheduler: wake second/1, at 13:00:00
  due 13:00:00

event answer bought "no" by=shop id=e1
----
  answer e1 accepted: 
    first Processed, attempt 1, round 1, decided "no" by shop
    second Waiting, attempt 1, round 2, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:00:00, answer-refused: the event bought came with a value that the workflow refuses, attempt 1 of 3
  due 13:00:00

event answer bought "no" by=web id=e2
----
  answer e2 accepted: 
    second Waiting, attempt 1, round 3, waits until 13:00:00, complete by 13:00:00
      error of attempt 1 at 12:00:00, answer-refused: the event bought came with a value that the workflow refuses, attempt 2 of 3
  due 13:00:00
