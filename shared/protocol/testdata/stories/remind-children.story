# P59: a step of child orders reminds until they have ended.
step parts each=x,y remind=15m by=mail
step c after=parts

event submit
wait 15m
sweep
event wake parts/1
event wake parts/1
----
  Processing
    parts Waiting, attempt 1, next 2 of 2, open 0, open 1, reminds by 12:15:05, waits until 12:10:00, complete by 12:10:05
    c Pending
  -> scheduler: wake parts/1, at 12:15:00
  -> o1~parts~0/1: start {"item":"x","index":0}
  -> o1~parts~1/1: start {"item":"y","index":1}
  -> scheduler: wake parts/1, at 12:10:00
  due 12:10:05
12:15:00
supervisor: Overdue{"Step":"parts","Attempt":1,"Queue":0}
    parts Waiting, attempt 1, next 2 of 2, open 0, open 1, reminds by 12:15:05, waits until 12:10:00, complete by 12:15:05
  -> scheduler: wake parts/1, now
  due 12:15:05
    parts Waiting, attempt 1, next 2 of 2, open 0, open 1, reminded 1, waits until 12:35:00, complete by 12:35:00
  -> mail: tell (do/0), key o1/0/parts/1.1, stop by 13:15:00 {"reminder":1}
  -> o1~parts~0/1: start {"item":"x","index":0}
  -> o1~parts~1/1: start {"item":"y","index":1}
  -> scheduler: wake parts/1, at 12:35:00
  due 12:15:05
  ignored: its wait is not over
  -> mail: tell (do/0), key o1/0/parts/1.1, stop by 13:15:00 {"reminder":1}
  -> scheduler: wake parts/1, at 12:35:00
  due 12:15:05
