# P12, I18. Broken by: one reply finishes two steps.
workflow reports
step a
step b

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  -> shop: step-finished, number 2, b   {"of":"b"}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
  -> shop: step-finished, number 3, a   {"of":"a"}
  -> shop: completed, number 4, 
       a Processed, attempt 1
       b Processed, attempt 1
  reported
  at rest
