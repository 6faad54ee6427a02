# P12, P12b: a status that its handling has not sent comes again, although a later one could not be sent meanwhile. Broken by:
# tell keeps it back, and the receiver gets those from the later number on.
workflow reports
step a
step b
step c

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1 crash
----
    a Processed, attempt 1
  -> shop: step-finished, number 2, a   {"of":"a"}
  the process dies before it has sent anything
  due 12:00:30

event done b/1 crash
----
    b Processed, attempt 1
  -> shop: step-finished, number 3, b   {"of":"b"}
  the process dies before it has sent anything
  due 12:00:30

event unsent shop 3 it is away
----
  shop has no status from number 3 on: it is away; again at 12:01:00
  due 12:00:30

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> shop: step-finished, number 2, a   {"of":"a"}
  shop has no status from number 3 on: it is away; again at 12:01:00
  due 12:00:30

wait 1h
event settle
----
13:00:00
  ignored: sent again
  -> shop: step-finished, number 3, b   {"of":"b"}
  delivered
  due 12:00:30
