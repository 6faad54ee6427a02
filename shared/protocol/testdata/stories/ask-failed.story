# The failure of an ask for good fails its step where that is not decided (P38). An answer that comes in Error decides at the Resubmit, and the ask is not repeated.
step a
step approve-ask after=a no-undo stop failures=1
step approve answers=yes,no ask=approve-ask after=a,approve-ask stop
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

event failed approve-ask/1
----
  Error (forward)
    approve-ask Failed, attempt 1, 1 failed
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt approve-ask/1 ended: failed refused
  -> shop: failed, number 1, approve-ask refused the service refused
       a Processed, attempt 1
       approve-ask Failed, attempt 1
       approve Pending, attempt 0
       c Pending, attempt 0
  -> operator: forward of step "approve-ask", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event answer approve/1 yes by=ann
----
  answer a1 accepted: 
    approve Pending, round 1, ann: "yes"
  attention 12:00:00

event resubmit r1
----
  resubmit r1 accepted: 
  Processing
    approve-ask Compensated, attempt 1, withdrawn: overtaken
    approve Processed, attempt 1, round 1, ann: "yes", decided "yes" by ann
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"a":{"of":"a"},"approve":{"value":"yes","by":"ann","at":"2026-11-21T12:00:00.000Z"}}}
  due 12:00:30

event done c/1
----
  Processed
    c Processed, attempt 1
  -> shop: completed, number 2, 
       a Processed, attempt 1
       approve-ask Compensated, attempt 1
       approve Processed, attempt 1
       c Processed, attempt 1
  reported
  at rest
