# An order that has ended is erased: its content, outputs and notes go, its states, times and identity stay, and it takes no further command.
step a grade=fenced
step b grade=fenced after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event erase e0
----
  erase e0 refused: the order is Processing; only one that has ended can be erased
  due 12:00:30

event failed a/1
----
  Compensating, because of failure
    a Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt a/1 ended: failed refused
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone a/2 crash
----
  Compensated, because of failure
    a Compensated, attempt 2, 1 failed
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
       b Pending, attempt 0
  the process dies before it has sent anything
  due 12:00:30

event erase e1
----
  erase e1 refused: the end of the order has not been reported yet; repeat the command in a minute
  due 12:00:30

event settle
----
  ignored: sent again
  -> shop: undone, number 1, a refused the service refused
       a Compensated, attempt 2
       b Pending, attempt 0
  reported
  at rest

event erase e2 unrested=p1
----
  erase e2 refused: the order is a child of p1, which has not come to rest and may still need it; end that one first
  at rest

event erase e3 command=7
----
  erase e3 refused: the order has accepted or refused another command since you loaded it; load it again and repeat the command if it still applies
  at rest

event erase e4 crash
----
  erase e4 accepted: 
      error of attempt 1 at 12:00:00, refused: 
  -> store: erase the content c0ffee of o1
  the process dies before it has sent anything
  at rest

event erase e4
----
  ignored: this command already has a verdict
  erase e4 accepted: 
  -> store: erase the content c0ffee of o1
  at rest

event erase e5
----
  erase e5 accepted: it was erased before
  -> store: erase the content c0ffee of o1
  at rest

event resubmit r1
----
  resubmit r1 refused: the content of the order was erased, so it takes no further command; submit new work under a new ID
  at rest

event cancel c1
----
  cancel c1 refused: the content of the order was erased, so it takes no further command; submit new work under a new ID
  at rest

event close c2
----
  close c2 refused: the content of the order was erased, so it takes no further command; submit new work under a new ID
  at rest

event submit
----
  ignored: the order is there
  at rest

event submit other-content
----
refused (other-content): an order with this ID and other content was submitted before; nothing was changed: submit the new content under a new ID

event undone a/2
----
  ignored: the task has ended
  at rest

event failed a/1
----
  ignored: it belongs to an earlier attempt
  at rest

event settle
----
  ignored: everything was reported before
  at rest
