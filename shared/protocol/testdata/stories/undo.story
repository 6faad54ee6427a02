# The third step is refused for good: everything that was attempted is undone, latest first.
workflow reports
step a
step b after=a
step note after=a no-undo
step c after=b,note

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
    note Pending
    c Pending
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    note Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 2, a   {"of":"a"}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  -> note-agent: do-note (do/1), key o1/0/note, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  -> shop: step-finished, number 3, b   {"of":"b"}
  due 12:00:30

event done note/1
----
    note Processed, attempt 1
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: step-finished, number 4, note   {"of":"note"}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"},"note":{"of":"note"}}}
  due 12:00:30

event failed c/1
----
  Compensating, because of failure
    c Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt c/1 ended: failed refused
  -> c-agent: undo-c (undo/2), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"},"note":{"of":"note"}}}
  due 12:00:30

# Its own undo comes first: a refusal is no proof that nothing happened (P7).
event undone c/2
----
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    note Compensated, attempt 1
    c Compensated, attempt 2, 1 failed
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:30

# "undo: none" is Compensated in its turn, with no request.
event undo-failed b/2
----
    b UndoWait, attempt 2, 1 undos failed, waits until 12:00:02, complete by 12:00:07
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> scheduler: wake b/2, at 12:00:02
  due 12:00:07

event wake b/2
----
  ignored: the order waits for something else
  due 12:00:07

wait 2s
event wake b/2
----
12:00:02
    b Compensating, attempt 3, 1 undos failed, locked by scheduler-1, complete by 12:00:32
  -> b-agent: undo-b (undo/3), key o1/0/b, stop by 12:00:32 {"order":{"n":1},"seen":{"a":{"of":"a"},"b":{"of":"b"}}}
  due 12:00:07

event undone b/3
----
    a Compensating, attempt 2, locked by scheduler-1, complete by 12:00:32
    b Compensated, attempt 3, 1 undos failed
  -> a-agent: undo-a (undo/2), key o1/0/a, stop by 12:00:32 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:07

event undone a/2
----
  Compensated, because of failure
    a Compensated, attempt 2
  -> shop: undone, number 5, c refused the service refused
       a Compensated, attempt 2
       b Compensated, attempt 3
       note Compensated, attempt 1
       c Compensated, attempt 2
  reported
  at rest
