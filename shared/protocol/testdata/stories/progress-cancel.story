# What an attempt has reported ends with it, and is not of the undo (P43).
step film long=1h timeout=1m

event submit
wait 30s
event progress film/1 20
event cancel
event progress film/1 30
event undone film/2
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:01:20
  -> film-agent: do-film (do/1), key o1/0/film, stop by 13:00:20 {"order":{"n":1}}
  due 12:01:20
12:00:30
    film Processing, attempt 1, at 20 % , locked by scheduler-1, complete by 12:01:30
  due 12:01:20
  cancel  accepted: 
  Compensating, because of cancel
    film Compensating, attempt 2, locked by scheduler-1, complete by 12:01:00
    attempt film/1 ended: superseded
  -> film-agent: undo-film (undo/2), key o1/0/film, stop by 12:01:00 {"order":{"n":1}}
  due 12:01:00
  ignored: it belongs to an earlier attempt
  due 12:01:00
  Cancelled, because of cancel
    film Compensated, attempt 2
  -> shop: cancelled, number 1, 
       film Compensated, attempt 2
  reported
  at rest
