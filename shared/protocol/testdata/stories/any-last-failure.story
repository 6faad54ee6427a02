# P54: the failure that is named is the one that came last, whatever the order of the members.
step decided-one continue no-undo
step decided-two continue no-undo
step decided any=one,two

event submit
event failed decided-two/1
wait 1s
event failed decided-one/1
----
  Processing
    decided-one Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided-two Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    decided Waiting, attempt 1
  -> decided-one-agent: do-decided-one (do/1), key o1/0/decided-one, stop by 12:00:30 {"order":{"n":1}}
  -> decided-two-agent: do-decided-two (do/1), key o1/0/decided-two, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
    decided-two Compensated, attempt 1, 1 failed, failed for good: refused
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt decided-two/1 ended: failed refused
  due 12:00:30
12:00:01
  Compensated, because of failure
    decided-one Compensated, attempt 1, 1 failed, failed for good: refused
      error of attempt 1 at 12:00:01, refused: the service refused
    decided Compensated, attempt 1
      error of attempt 1 at 12:00:01, none-left: 0 of its members can still end well, and it needs 1; the last failure that is known is of one, refused: the service refused
    attempt decided-one/1 ended: failed refused
  -> shop: undone, number 1, decided none-left 0 of its members can still end well, and it needs 1; the last failure that is known is of one, refused: the service refused
       decided-one Compensated, attempt 1
       decided-two Compensated, attempt 1
       decided Compensated, attempt 1
  reported
  at rest
