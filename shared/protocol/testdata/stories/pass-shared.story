# P56: several steps of a child use one answer of its parent, which counts once among those that the child can take. Broken
# by: each use counts, and the next answer is left until the step's time is over.
step a event=one
step b event=one
step c event=one
step d event=one
step e event=one
step f event=one
step g event=one
step h event=one
step i event=two

event parent start 1
----
  Processing
    a Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    b Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    c Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    d Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    e Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    f Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    g Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    h Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
    i Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake a/1, at 13:00:00
  -> scheduler: wake b/1, at 13:00:00
  -> scheduler: wake c/1, at 13:00:00
  -> scheduler: wake d/1, at 13:00:00
  -> scheduler: wake e/1, at 13:00:00
  -> scheduler: wake f/1, at 13:00:00
  -> scheduler: wake g/1, at 13:00:00
  -> scheduler: wake h/1, at 13:00:00
  -> scheduler: wake i/1, at 13:00:00
  due 13:00:00

event parent start 1 a1:one:x a2:two:x
----
  Processed
    a Processed, attempt 1, round 1, decided "x" by ann
    b Processed, attempt 1, round 1, decided "x" by ann
    c Processed, attempt 1, round 1, decided "x" by ann
    d Processed, attempt 1, round 1, decided "x" by ann
    e Processed, attempt 1, round 1, decided "x" by ann
    f Processed, attempt 1, round 1, decided "x" by ann
    g Processed, attempt 1, round 1, decided "x" by ann
    h Processed, attempt 1, round 1, decided "x" by ann
    i Processed, attempt 1, round 1, decided "x" by ann
  -> parent/1: processed , took 2
  reported
  at rest
