# An agent that was late, and one that made no call, are left for the other one, which has its own allowance and its own queue (P44, P32, P45).
step pay others=east-agent queue=10m

event submit
----
  Processing
    pay Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> pay-agent: do-pay (do/1), key o1/0/pay, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

wait 30s
sweep backlog=pay
----
12:00:30
supervisor: Overdue{"Step":"pay","Attempt":1,"Queue":1}
    pay Pending, attempt 1, waits until 12:00:30, complete by 12:00:35
    attempt pay/1 ended: overdue queue
  -> scheduler: wake pay/1, at 12:00:30
  due 12:00:35

seen east-agent 45s
event wake pay/1
----
    pay Processing, attempt 2, locked by scheduler-1, complete by 12:02:10
  -> east-agent: do-pay (do/2), key o1/0/pay, stop by 12:02:10 {"order":{"n":1}}
  due 12:00:35

event not-now pay/2
----
    pay Pending, attempt 2, waits until 12:00:32.637, complete by 12:00:37.637
      error of attempt 2 at 12:00:30, unauthorized: no call was made, since 12:00:30
    attempt pay/2 ended: retry-later unauthorized
  -> scheduler: wake pay/2, at 12:00:32.637
  due 12:00:35

wait 3s
event wake pay/2
----
12:00:33
    pay Processing, attempt 3, locked by scheduler-1, complete by 12:02:13
  -> pay-agent: do-pay (do/3), key o1/0/pay, stop by 12:02:13 {"order":{"n":1}}
  due 12:00:35
