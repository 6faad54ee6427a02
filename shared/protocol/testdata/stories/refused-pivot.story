# A point of no return whose refusal undoes the order (P22a): a transfer that withdraws and deposits.
# A refusal that is proven needs no quiet wait, and the step needs no undo.
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

# In flight it is passed: nothing turns the order around.
event cancel c1
----
  cancel c1 refused: the order is past its point of no return
  due 12:00:30

# Refused for now, and proven so: until it is claimed again there is a way back.
event later deposit/1 no-effect
----
    deposit Pending, attempt 1, 1 failed, without effect, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt deposit/1 ended: retry-later http-503
  -> scheduler: wake deposit/1, at 12:00:01
  due 12:00:06

wait 1s
----
12:00:01

event wake deposit/1
----
    deposit Processing, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:31
  -> deposit-agent: do-deposit (do/2), key o1/0/deposit, stop by 12:00:31, point of no return {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:06

event cancel c2
----
  cancel c2 refused: the order is past its point of no return
  due 12:00:06

# A reply that comes twice changes nothing the second time.
event later deposit/1 no-effect
----
  ignored: it belongs to an earlier attempt
  due 12:00:06

event failed deposit/2 no-effect
----
  Compensating, because of failure
    withdraw Compensating, attempt 2, locked by scheduler-1, complete by 12:00:31
    deposit Compensated, attempt 2, 2 failed, without effect
      error of attempt 2 at 12:00:01, refused: the service refused
    attempt deposit/2 ended: failed refused
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:00:31 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:06

event failed deposit/2 no-effect
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> withdraw-agent: undo-withdraw (undo/2), key o1/0/withdraw, stop by 12:00:31 {"order":{"n":1},"seen":{"withdraw":{"of":"withdraw"}}}
  due 12:00:06

event undone withdraw/2
----
  Compensated, because of failure
    withdraw Compensated, attempt 2
  -> shop: undone, number 1, deposit refused the service refused
       withdraw Compensated, attempt 2
       deposit Compensated, attempt 2
  reported
  at rest
