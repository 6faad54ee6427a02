# The agent of a point of no return made no call, and has recorded that (P22a, P45): the step is handed
# back uncounted, and while it waits the order can be cancelled.
step withdraw
step deposit after=withdraw no-return=undo failures=2

event submit
----
  Processing
    withdraw Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    deposit Pending
  -> withdraw-agent: do-withdraw (do/1), key o1/0/withdraw, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done withdraw/1
----
    withdraw Processed, attempt 1
    deposit Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> deposit-agent: do-deposit (do/1), key o1/0/deposit, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:30

wait 1s
----
12:00:01

event not-now deposit/1 no-effect
----
    deposit Pending, attempt 1, without effect, waits until 12:00:03.427, complete by 12:00:08.427
      error of attempt 1 at 12:00:01, unauthorized: no call was made, since 12:00:01
    attempt deposit/1 ended: retry-later unauthorized
  -> scheduler: wake deposit/1, at 12:00:03.427
  due 12:00:08.427

wait 5s
----
12:00:06

event wake deposit/1
----
    deposit Processing, attempt 2, locked by scheduler-1, complete by 12:00:36
  -> deposit-agent: do-deposit (do/2), key o1/0/deposit, stop by 12:00:36, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:08.427

event cancel c1
----
  cancel c1 refused: the order is past its point of no return
  due 12:00:08.427

wait 1s
----
12:00:07

event not-now deposit/2 no-effect
----
    deposit Pending, attempt 2, without effect, waits until 12:00:13.601, complete by 12:00:18.601
      error of attempt 2 at 12:00:07, unauthorized: no call was made, since 12:00:01
    attempt deposit/2 ended: retry-later unauthorized
  -> scheduler: wake deposit/2, at 12:00:13.601
  due 12:00:08.427

event cancel c2
----
  cancel c2 accepted: 
  Compensating, because of cancel
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 12:00:37
    deposit Compensated, attempt 2, without effect
      error of attempt 2 at 12:00:07, unauthorized: no call was made
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:00:37 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:08.427
