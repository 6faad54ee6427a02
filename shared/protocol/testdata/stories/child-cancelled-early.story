# P17, P41: a Cancel that comes before a child keeps nothing, because the child's parent would wait for its end for ever.
# Broken by: decideUnknown keeps every Cancel.
step a

event cancel c1 order=p~each~3
----
refused (unknown-task): no order with this ID is known; check the ID, or look for it with list

event parent start 1
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event cancel c1 order=p~each~3
----
  cancel c1 refused: the order is child 3 of step each of p, which decides about it; a child in Error can be resubmitted, moved, resolved or closed, and for all else give the command to p
  due 12:00:30
