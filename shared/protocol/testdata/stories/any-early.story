# P54: a member that has ended before the others are asked decides, and no request is sent.
step a
step decided-bought event=bought continue after=a
step decided-work continue after=a
step decided any=bought,work after=a
step c after=decided

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-bought Pending
    decided-work Pending
    decided Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event answer bought yes by=shop
----
  answer a1 accepted: 
    decided-bought Pending, round 1, shop: "yes"
  due 12:00:30

event done a/1 crash
----
    a Processed, attempt 1
    decided-bought Processed, attempt 1, round 1, decided "yes" by shop
    decided-work Skipped
    decided Processed, attempt 1, won: bought
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"decided":{"value":"yes","by":"shop","at":"2026-11-21T12:00:00.000Z"},"decided-bought":{"value":"yes","by":"shop","at":"2026-11-21T12:00:00.000Z"}}}
  the process dies before it has sent anything
  due 12:00:30

event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"decided":{"value":"yes","by":"shop","at":"2026-11-21T12:00:00.000Z"},"decided-bought":{"value":"yes","by":"shop","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
       decided-bought Processed, attempt 1
       decided-work Skipped, attempt 0
       decided Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
