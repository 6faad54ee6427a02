# Two steps side by side; a shipment only where the goods are physical; a confirmation that
# cannot be called back. The last step sees what all before it answered.
workflow reports output
step reserve
step charge
step ship after=reserve,charge when=true
step gift after=charge when=false
step confirm after=ship,gift no-return

event submit
----
  Processing
    reserve Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    charge Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
    gift Pending
    confirm Pending
  -> shop: started, number 1, 
  -> reserve-agent: do-reserve (do/1), key o1/0/reserve, stop by 12:00:30 {"order":{"n":1}}
  -> charge-agent: do-charge (do/1), key o1/0/charge, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

# The queue delivers twice: the same requests once more, nothing else.
event submit
----
  ignored: the order is there
  -> shop: started, number 1, 
  -> reserve-agent: do-reserve (do/1), key o1/0/reserve, stop by 12:00:30 {"order":{"n":1}}
  -> charge-agent: do-charge (do/1), key o1/0/charge, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 2s
event done charge/1
----
12:00:02
    charge Processed, attempt 1
    gift Skipped
  -> shop: step-finished, number 2, charge   {"of":"charge"}
  due 12:00:30

event done reserve/1
----
    reserve Processed, attempt 1
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:32
  -> shop: step-finished, number 3, reserve   {"of":"reserve"}
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:32 {"order":{"n":1},"seen":{"charge":{"of":"charge"},"reserve":{"of":"reserve"}}}
  due 12:00:30

wait 3s
event done ship/1
----
12:00:05
    ship Processed, attempt 1
    confirm Processing, attempt 1, locked by scheduler-1, complete by 12:00:35
  -> shop: step-finished, number 4, ship   {"of":"ship"}
  -> confirm-agent: do-confirm (do/1), key o1/0/confirm, stop by 12:00:35, point of no return {"order":{"n":1},"seen":{"charge":{"of":"charge"},"reserve":{"of":"reserve"},"ship":{"of":"ship"}}}
  due 12:00:30

# Nothing is overdue: the due time was early all the while, and is pushed.
wait 26s
sweep
----
12:00:31
nothing is overdue; due pushed: true
  due 12:00:35

event done confirm/1
----
  Processed
    confirm Processed, attempt 1
  -> shop: step-finished, number 5, confirm   {"of":"confirm"}
  -> shop: completed, number 6, {"order":{"n":1},"seen":{"charge":{"of":"charge"},"confirm":{"of":"confirm"},"reserve":{"of":"reserve"},"ship":{"of":"ship"}}}
       reserve Processed, attempt 1
       charge Processed, attempt 1
       ship Processed, attempt 1
       gift Skipped, attempt 0
       confirm Processed, attempt 1
  reported
  at rest

event done confirm/1
----
  ignored: the task has ended
  -> shop: step-finished, number 5, confirm   {"of":"confirm"}
  at rest
