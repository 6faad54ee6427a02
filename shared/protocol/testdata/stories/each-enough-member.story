# A list in an any: it wins with its decision, although one of its children is still undone.
step any-list each=a,b enough=1
step any-call
step any any=list,call

event submit
----
  Processing
    any-list Waiting, attempt 1, next 2 of 2, 1 are enough, open 0, open 1, waits until 12:10:00, complete by 12:10:05
    any-call Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    any Waiting, attempt 1
  -> o1~any-list~0/1: start {"item":"a","index":0}
  -> o1~any-list~1/1: start {"item":"b","index":1}
  -> scheduler: wake any-list/1, at 12:10:00
  -> any-call-agent: do-any-call (do/1), key o1/0/any-call, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event child any-list 0/1 processed
----
    any-list Settling, attempt 1, next 2 of 2, 1 are enough, open 1, waits until 12:10:00, complete by 12:10:05
    any-call Compensating, attempt 2, withdrawn: overtaken, locked by scheduler-1, complete by 12:00:30
    any Settling, attempt 1, won: list
    attempt any-call/1 ended: superseded
  -> o1~any-list~1/1: undo {"item":"b","index":1}
  -> scheduler: wake any-list/1, at 12:10:00
  -> any-call-agent: undo-any-call (undo/2), key o1/0/any-call, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event undone any-call/2
----
    any-call Compensated, attempt 2, withdrawn: overtaken
    any Processed, attempt 1, won: list
  due 12:00:30

event child any-list 1/1 compensated
----
  Processed
    any-list Processed, attempt 1, next 2 of 2, 1 are enough
  -> shop: completed, number 1, 
       any-list Processed, attempt 1
       any-call Compensated, attempt 2
       any Processed, attempt 1
  reported
  at rest
