# A list in an any that has ended well is undone as a whole, because too few members end well.
step any-list each=a,b enough=1 continue
step any-call continue
step any any=list,call enough=2 continue
step x after=any

event submit
----
  Processing
    any-list Waiting, attempt 1, next 2 of 2, 1 are enough, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    any-call Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    any Waiting, attempt 1
    x Pending
  -> o1~any-list~0/1: start {"item":"a","index":0}
  -> o1~any-list~1/1: start {"item":"b","index":1}
  -> scheduler: wake any-list/1, at 12:10:00
  -> any-call-agent: do-any-call (do/1), key o1/0/any-call, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child any-list 0/1 processed
----
    any-list Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 12:10:00, complete by 12:10:05
    any Waiting, attempt 1, won: list
  -> o1~any-list~1/1: undo {"item":"b","index":1}
  -> scheduler: wake any-list/1, at 12:10:00
  due 12:00:30

event failed any-call/1
----
    any-list Waiting, attempt 2, withdrawn: overtaken, next 2 of 2, 1 are enough, open 1, open 0, waits until 12:10:00, complete by 12:10:05
    any-call Compensating, attempt 2, 1 failed, failed for good: refused, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    any Compensated, attempt 1, failed for good: none-left
      error of attempt 1 at 12:00:00, none-left: 1 of its members can still end well, and it needs 2; the last failure that is known is of call, refused: the service refused
    x Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    attempt any-call/1 ended: failed refused
  -> any-call-agent: undo-any-call (undo/2), key o1/0/any-call, stop by 12:00:30 {"order":{"n":1}}
  -> o1~any-list~1/2: undo {"item":"b","index":1}
  -> o1~any-list~0/2: undo {"item":"a","index":0}
  -> scheduler: wake any-list/2, at 12:10:00
  -> x-agent: do-x (do/1), key o1/0/x, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone any-call/2
----
    any-call Compensated, attempt 2, 1 failed, failed for good: refused
  due 12:00:30

event child any-list 1/2 compensated
----
    any-list Waiting, attempt 2, withdrawn: overtaken, next 2 of 2, 1 are enough, open 0, waits until 12:10:00, complete by 12:10:05
  due 12:00:30

event child any-list 0/2 compensated
----
    any-list Compensated, attempt 2, withdrawn: overtaken, next 2 of 2, 1 are enough
  due 12:00:30
