# A wait until a time of the order, one of which has passed, which ends with its claim; what comes after that is
# claimed in the same decision (P34).
step w until=10m
step v until=-1h
step b after=v
step u until=0s after=b

event submit
----
  Processing
    w Waiting, attempt 1, waits until 12:10:00, complete by 12:10:05
    v Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    u Pending
  -> scheduler: wake w/1, at 12:10:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# The submission comes again: what its claims have sent is sent again (P12).
event submit
----
  ignored: the order is there
  -> scheduler: wake w/1, at 12:10:00
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
    u Processed, attempt 1
  due 12:00:30
