# An approval: one answer decides, what comes after it is claimed in the same decision (P35).
step a
step approve answers=yes,no refuse after=a
step b after=approve

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve Pending
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    approve Waiting, attempt 1, round 1, waits until 13:00:00, complete by 13:00:00
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30

# The reply comes again: the Wake is sent again (P12).
event done a/1
----
  ignored: this is not asked for now: a duplicate, or overtaken
  -> scheduler: wake approve/1, at 13:00:00
  due 12:00:30

event answer approve/1 maybe
----
  answer a1 refused: the value must be one of: yes, no
  due 12:00:30

event answer approve/1 yes by=bob
----
  answer a2 accepted: 
    approve Processed, attempt 1, round 1, bob: "yes", decided "yes" by bob
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"approve":{"value":"yes","by":"bob","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

# The same message comes again: its verdict stands, its request is sent again (P36, P12).
event answer approve/1 yes by=bob id=a2
----
  ignored: this command already has a verdict
  answer a2 accepted: 
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"approve":{"value":"yes","by":"bob","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

# The same once more in another message changes nothing; another value is refused and says who decided what.
event answer approve/1 yes by=bob
----
  answer a4 accepted: step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by bob
  due 12:00:30

event answer approve/1 yes by=cleo
----
  answer a5 accepted: step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by bob
  due 12:00:30

event answer approve/1 no by=cleo
----
  answer a6 refused: step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by bob
  due 12:00:30

event done b/1
----
  Processed
    b Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
       approve Processed, attempt 1
       b Processed, attempt 1
  reported
  at rest

event answer approve/1 yes by=bob
----
  answer a7 refused: the order no longer goes forward; it is Processed; step approve was decided at 2026-11-21T12:00:00.000Z: "yes" by bob
  at rest
