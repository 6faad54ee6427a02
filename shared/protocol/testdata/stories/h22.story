# H22. Each message of a batch emits its own again. Broken by: reemit leaves out the requests. (That no message of a
# batch is deleted before all was sent is the Scheduler's part, P13.)
step a
step b
step c after=a
step d after=b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    c Pending
    d Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1 crash
----
    a Processed, attempt 1
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  the process dies before it has sent anything
  due 12:00:30

event done b/1 crash
----
    b Processed, attempt 1
    d Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> d-agent: do-d (do/1), key o1/0/d, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  the process dies before it has sent anything
  due 12:00:30

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event done b/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> d-agent: do-d (do/1), key o1/0/d, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:30
