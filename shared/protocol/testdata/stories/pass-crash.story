# The process dies before it has sent the answer to the iteration: the answer's copy sends it, and so does a restart, and
# the step when it asks again.
step card repeat=3 until-index=2 passes=data

event submit
----
  Processing
    card Waiting, attempt 1, next 1 of 3, open 0, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}
  -> scheduler: wake card/1, at 12:10:00
  due 12:10:05

event answer data one id=a1 crash
----
  answer a1 accepted: passed on to step card
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:10:00, complete by 12:10:05
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  the process dies before it has sent anything
  due 12:10:05

event answer data one id=a1
----
  ignored: this command already has a verdict
  answer a1 accepted: passed on to step card
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  due 12:10:05

restart
----
  -> scheduler: wake card/1, at 12:10:00
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  due 12:10:05

wait 10m
event wake card/1
----
12:10:00
    card Waiting, attempt 1, next 1 of 3, open 0, 1 answers known, passes a1, waits until 12:30:00, complete by 12:30:00
  -> o1~card~0/1: start {"previous":null,"index":0}, a1: data "one"
  -> scheduler: wake card/1, at 12:30:00
  due 12:10:05
