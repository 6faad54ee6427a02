# The service works and says "not yet": nothing is counted, and the step is asked again (P45).
step parcel stop failures=1 queue=10s poll=1m

event submit
----
  Processing
    parcel Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> parcel-agent: do-parcel (do/1), key o1/0/parcel, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event not-yet parcel/1 retry-after=20s
----
    parcel Pending, attempt 1, waits until 12:00:20, complete by 12:00:25
      error of attempt 1 at 12:00:00, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt parcel/1 ended: retry-later not-yet
  -> scheduler: wake parcel/1, at 12:00:20
  due 12:00:25

wait 20s
event wake parcel/1
----
12:00:20
    parcel Processing, attempt 2, locked by scheduler-1, complete by 12:00:50
  -> parcel-agent: do-parcel (do/2), key o1/0/parcel, stop by 12:00:50 {"order":{"n":1}}
  due 12:00:25

# What its agent cannot ask does not end the poll, and has its own time.
event breaker-open parcel/2
----
    parcel Pending, attempt 2, waits until 12:00:22.912, complete by 12:00:27.912
      error of attempt 2 at 12:00:20, breaker-open: no call was made, since 12:00:20, polling since 12:00:00
    attempt parcel/2 ended: retry-later breaker-open
  -> scheduler: wake parcel/2, at 12:00:22.912
  due 12:00:25

wait 10s
event wake parcel/2
----
12:00:30
    parcel Processing, attempt 3, locked by scheduler-1, complete by 12:01:00
      error of attempt 2 at 12:00:20, breaker-open: no call was made, since 12:00:22.088, polling since 12:00:00
  -> parcel-agent: do-parcel (do/3), key o1/0/parcel, stop by 12:01:00 {"order":{"n":1}}
  due 12:00:25

event not-yet parcel/3 retry-after=10m
----
    parcel Pending, attempt 3, waits until 12:01:00, complete by 12:01:05
      error of attempt 3 at 12:00:30, not-yet: no call was made, since 12:00:00, polling since 12:00:00
    attempt parcel/3 ended: retry-later not-yet
  -> scheduler: wake parcel/3, at 12:01:00
  due 12:00:25

# The last time it is asked is the end of pollFor.
wait 30s
event wake parcel/3
----
12:01:00
    parcel Processing, attempt 4, locked by scheduler-1, complete by 12:01:30
  -> parcel-agent: do-parcel (do/4), key o1/0/parcel, stop by 12:01:30 {"order":{"n":1}}
  due 12:00:25

event not-yet parcel/4
----
  Error (forward)
    parcel Failed, attempt 4
      error of attempt 4 at 12:01:00, not-yet: the service has answered not-yet for longer than pollFor: no call was made
    attempt parcel/4 ended: retry-later not-yet
  -> shop: failed, number 1, parcel not-yet the service has answered not-yet for longer than pollFor: no call was made
       parcel Failed, attempt 4
  -> operator: forward of step "parcel", not-yet: the service has answered not-yet for longer than pollFor: no call was made (answer to command 0; resubmit; undo; resolve from 12:01:31.001)
  reported
  attention 12:01:00

# Resubmit polls for the whole time again.
event resubmit c1
----
  resubmit c1 accepted: 
  Processing
    parcel Processing, attempt 5, locked by scheduler-1, complete by 12:01:30
  -> parcel-agent: do-parcel (do/5), key o1/0/parcel, stop by 12:01:30 {"order":{"n":1}}
  due 12:01:30

event not-yet parcel/5
----
    parcel Pending, attempt 5, waits until 12:01:02.208, complete by 12:01:07.208
      error of attempt 5 at 12:01:00, not-yet: no call was made, since 12:01:00, polling since 12:01:00
    attempt parcel/5 ended: retry-later not-yet
  -> scheduler: wake parcel/5, at 12:01:02.208
  due 12:01:07.208

wait 5s
event wake parcel/5
----
12:01:05
    parcel Processing, attempt 6, locked by scheduler-1, complete by 12:01:35
  -> parcel-agent: do-parcel (do/6), key o1/0/parcel, stop by 12:01:35 {"order":{"n":1}}
  due 12:01:07.208

event done parcel/6
----
  Processed
    parcel Processed, attempt 6
      error of attempt 5 at 12:01:00, not-yet: no call was made
  -> shop: completed, number 2, 
       parcel Processed, attempt 6
  reported
  at rest
