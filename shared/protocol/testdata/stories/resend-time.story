# An end that is reported at once shall not move its index entry first: the resend time is the due time that stands
# there, unless that is later than twice tellAfter (P9, P11). A usual claim lasts 30 s.
workflow tell-after=20s
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 1s
event done a/1 crash
----
12:00:01
  Processed
    a Processed, attempt 1
  -> shop: completed, number 1, 
       a Processed, attempt 1
  the process dies before it has sent anything
  due 12:00:30
