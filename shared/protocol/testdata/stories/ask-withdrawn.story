# An ask that was handed back is not sent again once its step is decided (P38); no later step sees what it came to.
step a
step approve-ask after=a no-undo
step approve answers=yes,no need=2 ask=approve-ask after=a,approve-ask
step c after=approve

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    approve-ask Pending
    approve Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    approve-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> approve-ask-agent: do-approve-ask (do/1), key o1/0/approve-ask, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event answer approve/1 yes by=ann
----
  answer a1 accepted: 
    approve Pending, round 1, ann: "yes"
  due 12:00:30

event later approve-ask/1
----
    approve-ask Pending, attempt 1, 1 failed, waits until 12:00:01, complete by 12:00:06
      error of attempt 1 at 12:00:00, http-503: the service is not well
    attempt approve-ask/1 ended: retry-later http-503
  -> scheduler: wake approve-ask/1, at 12:00:01
  due 12:00:06

event answer approve/1 yes by=bob
----
  answer a2 accepted: 
    approve-ask Compensated, attempt 1, 1 failed, withdrawn: overtaken
    approve Processed, attempt 1, round 1, needs 2, ann: "yes", bob: "yes", decided "yes" by ann, bob
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"approve":{"value":"yes","by":"ann, bob","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:06

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
       approve-ask Compensated, attempt 1
       approve Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
