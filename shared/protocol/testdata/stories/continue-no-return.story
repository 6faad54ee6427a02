# Past a point of no return the order goes on as well: the step has an undo of its own.
step pay no-return
step fedex after=pay continue
step dhl after=fedex when-failed=fedex stop

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    fedex Pending
    dhl Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30, point of no return {"order":{"n":1}}
  due 12:00:30

event done pay/1
----
    pay Processed, attempt 1
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event failed fedex/1
----
    fedex Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> fedex-agent: undo-fedex (undo/2), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event undone fedex/2
----
    fedex Compensated, attempt 2, 1 failed, failed for good: refused
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

event failed dhl/1
----
  Error (forward)
    dhl Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt dhl/1 ended: failed refused
  -> shop: failed, number 1, dhl refused the service refused
       pay Processed, attempt 1
       fedex Compensated, attempt 2
       dhl Failed, attempt 1
  -> operator: forward of step "dhl", refused: the service refused (answer to command 0; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:00
