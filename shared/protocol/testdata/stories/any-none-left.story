# P54: once no member can end well any more, the policy of the step applies. Each member was undone alone.
step a
step decided-one continue after=a
step decided-two continue after=a no-undo
step decided any=one,two after=a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-one Pending
    decided-two Pending
    decided Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed decided-one/1
----
    decided-one Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt decided-one/1 ended: failed refused
  -> decided-one-agent: undo-decided-one (undo/2), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed decided-two/1
----
  Compensating, because of failure
    decided-two Compensated, attempt 1, 1 failed, failed for good: refused
      error of attempt 1 at 12:00:00, refused: the service refused
    decided Failed, attempt 1
      error of attempt 1 at 12:00:00, none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of two, refused: the service refused
    attempt decided-two/1 ended: failed refused
  due 12:00:30

event undone decided-one/2
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    decided-one Compensated, attempt 2, 1 failed, failed for good: refused
    decided Compensated, attempt 1
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 1, decided none-left 0 of its members can still end well, and it needs 1; the last failure that is known is of two, refused: the service refused
       a Compensated, attempt 2
       decided-one Compensated, attempt 2
       decided-two Compensated, attempt 1
       decided Compensated, attempt 1
  reported
  at rest
