# H18. Cancel before the order. Broken by: decideUnknown ignores a Cancel.
step a

event cancel c1
----
  cancel c1 accepted: the order had not arrived; it will not run when it does
  Cancelled, because of cancel
  at rest

event submit
----
  ignored: the order was cancelled before it came
  at rest

event cancel c1
----
  ignored: this command already has a verdict
  cancel c1 accepted: the order had not arrived; it will not run when it does
  at rest

event cancel c2
----
  cancel c2 accepted: it was cancelled before
  at rest

event resubmit r1
----
  resubmit r1 refused: the order is Cancelled, which is final
  at rest
