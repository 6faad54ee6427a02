# A block within a block: the answer goes through, and both ends say that it was taken.
step inner child passes=data

event parent start 1
----
  Processing
    inner Waiting, attempt 1, next 1 of 1, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~inner~0/1: start {"n":1}
  -> scheduler: wake inner/1, at 12:10:00
  due 12:10:05

event parent start 1 a1:data:one
----
    inner Waiting, attempt 1, next 1 of 1, open 0, 1 answers known, passes a1, waits until 12:10:00, complete by 12:10:05
  -> o1~inner~0/1: start {"n":1}, a1: data "one"
  due 12:10:05

event answer data two id=b1
----
  answer b1 accepted: passed on to step inner
    inner Waiting, attempt 1, next 1 of 1, open 0, 2 answers known, passes a1, passes b1, waits until 12:10:00, complete by 12:10:05
  -> o1~inner~0/1: start {"n":1}, a1: data "one", b1: data "two"
  due 12:10:05

event child inner 0/1 processed took=a1,b1
----
  Processed
    inner Processed, attempt 1, next 1 of 1, 2 answers known
  -> parent/1: processed , took 1
  reported
  at rest
