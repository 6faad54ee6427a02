# P54: a member whose question cannot be sent has failed.
step decided-clerk-ask continue no-undo
step decided-clerk answers=yes,no ask=decided-clerk-ask after=decided-clerk-ask continue
step decided-work continue
step decided any=clerk,work
step c after=decided

event submit
----
  Processing
    decided-clerk-ask Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-clerk Pending
    decided-work Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
    c Pending
  -> decided-clerk-ask-agent: do-decided-clerk-ask (do/1), key o1/0/decided-clerk-ask, stop by 12:00:30 {"order":{"n":1}}
  -> decided-work-agent: do-decided-work (do/1), key o1/0/decided-work, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event failed decided-clerk-ask/1
----
    decided-clerk-ask Compensated, attempt 1, 1 failed, failed for good: refused
      error of attempt 1 at 12:00:00, refused: the service refused
    decided-clerk Compensated, failed for good: refused
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt decided-clerk-ask/1 ended: failed refused
  due 12:00:30

event done decided-work/1
----
    decided-work Processed, attempt 1
    decided Processed, attempt 1, won: work
    c Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> c-agent: do-c (do/1), key o1/0/c, stop by 12:00:30 {"order":{"n":1},"seen":{"decided":{"of":"decided-work"},"decided-work":{"of":"decided-work"}}}
  due 12:00:30
