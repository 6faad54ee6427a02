# P45, P19. What happens after pollFor is the step's to say. Broken by: the operator is called under every policy.
step a poll=1h stop

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-yet a/1
----
    a Pending, attempt 1, waits until 12:00:02.647, complete by 12:00:07.647
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt a/1 ended: retry-later not-yet
  -> scheduler: wake a/1, at 12:00:02.647
  due 12:00:07.647

wait 1h
event wake a/1
----
13:00:00
    a Processing, attempt 2, locked by scheduler-1, complete by 13:00:30
  -> a-agent: do-a (do/2), key o1/0/a, stop by 13:00:30 {"order":{"n":1}}
  due 12:00:07.647

event not-yet a/2
----
  Error (forward)
    a Failed, attempt 2
      error of attempt 2 at 13:00:00, not-yet: the service has answered not-yet for longer than pollFor: no call was made
    attempt a/2 ended: retry-later not-yet
  -> shop: failed, number 1, a not-yet the service has answered not-yet for longer than pollFor: no call was made
       a Failed, attempt 2
  -> operator: forward of step "a", not-yet: the service has answered not-yet for longer than pollFor: no call was made (answer to command 0; resubmit; undo; resolve from 13:00:31.001)
  reported
  attention 13:00:00
