# Before the order: a tombstone. The order that comes later does not run (H18).
step a
step b after=a

event cancel early
----
  cancel early accepted: the order had not arrived; it will not run when it does
  Cancelled, because of cancel
  at rest

event submit
----
  ignored: the order was cancelled before it came
  at rest

event cancel early
----
  ignored: this command already has a verdict
  cancel early accepted: the order had not arrived; it will not run when it does
  at rest

event resubmit r1
----
  resubmit r1 refused: the order is Cancelled, which is final
  at rest
