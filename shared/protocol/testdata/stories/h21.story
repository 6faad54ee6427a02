# H21. Stale load keeps the reply. Broken by: guard takes an attempt above the document's for an old one (P8).
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/2
----
error: the message is ahead of the document

event failed a/2
----
error: the message is ahead of the document

event undone a/2
----
error: the message is ahead of the document

event wake a/2
----
error: the message is ahead of the document

event overdue a/2
----
error: the message is ahead of the document

event done a/1 run=1
----
error: the message is ahead of the document

event wake a/1 run=1
----
error: the message is ahead of the document

event cancel c1 run=1
----
error: the message is ahead of the document
