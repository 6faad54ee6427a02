# The workflow's output fails: Processed all the same, the status says why (P20).
workflow output=fails
step a

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Processed
    a Processed, attempt 1
  -> shop: completed, number 1, expression output: no such field
       a Processed, attempt 1
  reported
  at rest
