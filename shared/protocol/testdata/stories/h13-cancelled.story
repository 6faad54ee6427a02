# H13. A tombstone is known as long.
step a

event cancel c1
----
  cancel c1 accepted: the order had not arrived; it will not run when it does
  Cancelled, because of cancel
  at rest

wait 720h
event submit
----
day 30 12:00:00
  ignored: the order was cancelled before it came
  at rest
