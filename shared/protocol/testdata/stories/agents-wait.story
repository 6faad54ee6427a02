# Of several agents the one is asked whose requests wait least; the first of the list, unless another is a fifth better (P44).
step pay others=east-agent
step ship others=east-agent after=pay
step bill others=east-agent after=ship
step notify others=east-agent after=bill

seen pay-agent 10s east-agent 8s
event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ship Pending
    bill Pending
    notify Pending
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

seen pay-agent 10s east-agent 8s ship-agent 10s
event done pay/1
----
    pay Processed, attempt 1
    ship Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> ship-agent: do-ship (do/1), key o1/0/ship, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"}}}
  due 12:00:30

seen bill-agent 10s east-agent 7900ms
event done ship/1
----
    ship Processed, attempt 1
    bill Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> east-agent: do-bill (do/1), key o1/0/bill, stop by 12:00:30 {"order":{"n":1},"seen":{"pay":{"of":"pay"},"ship":{"of":"ship"}}}
  due 12:00:30

seen notify-agent 100ms
event done bill/1
----
    bill Processed, attempt 1
    notify Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> notify-agent: do-notify (do/1), key o1/0/notify, stop by 12:00:30 {"order":{"n":1},"seen":{"bill":{"of":"bill"},"pay":{"of":"pay"},"ship":{"of":"ship"}}}
  due 12:00:30
