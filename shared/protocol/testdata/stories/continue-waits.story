# A grade without a fence waits until no call can take effect any more (P21), and the application is notified until when.
workflow reports
step fedex grade=idempotent continue
step dhl after=fedex when-failed=fedex
step stock

event submit
----
  Processing
    fedex Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Pending
    stock Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> shop: started, number 1, 
  -> fedex-agent: do-fedex (do/1), key o1/0/fedex, stop by 12:00:30 {"order":{"n":1}}
  -> stock-agent: do-stock (do/1), key o1/0/stock, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done stock/1
----
    stock Processed, attempt 1
  -> shop: step-finished, number 2, stock   {"of":"stock"}
  due 12:00:30

wait 10s
event failed fedex/1
----
12:00:10
    fedex UndoWait, attempt 1, 1 failed, failed for good: refused, waits until 12:00:31.001, complete by 12:00:36.001
      error of attempt 1 at 12:00:10, refused: the service refused
    attempt fedex/1 ended: failed refused
  -> scheduler: wake fedex/1, at 12:00:31.001
  -> shop: undoing, number 0, fedex, until 12:00:31.001
  due 12:00:30

event wake fedex/1
----
  ignored: its wait is not over
  due 12:00:30

wait 21s
event wake fedex/1
----
12:00:31
  ignored: its wait is not over
  due 12:00:30

event undone fedex/2
----
error: the message is ahead of the document
