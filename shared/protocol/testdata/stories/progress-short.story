# A step without a maxDuration gets no more time, and progress of an undo, of a step that is not at work or of an order that has ended is refused (P43).
step film
step other after=film long=1h

event submit
event progress film/1 20
event progress other/0 20
event done film/1
event failed other/1
event progress other/2 50
event undone other/2
event progress film/1 50
event undone film/2
event progress film/1 50
----
  Processing
    film Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    other Pending
  -> film-agent: do-film (do/1), key o1/0/film, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30
  ignored: the step has no maxDuration: progress does not give it more time
  due 12:00:30
  ignored: no attempt has that number
  due 12:00:30
    film Processed, attempt 1
    other Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> other-agent: do-other (do/1), key o1/0/other, stop by 13:00:20 {"order":{"n":1},"seen":{"film":{"of":"film"}}}
  due 12:00:30
  Compensating, because of failure
    other Compensating, attempt 2, 1 failed, locked by scheduler-1, complete by 12:00:30
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt other/1 ended: failed refused
  -> other-agent: undo-other (undo/2), key o1/0/other, stop by 12:00:30 {"order":{"n":1},"seen":{"film":{"of":"film"}}}
  due 12:00:30
  ignored: this is not asked for now: a duplicate, or overtaken
  due 12:00:30
    film Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
    other Compensated, attempt 2, 1 failed
  -> film-agent: undo-film (undo/2), key o1/0/film, stop by 12:00:30 {"order":{"n":1},"seen":{"film":{"of":"film"}}}
  due 12:00:30
  ignored: it belongs to an earlier attempt
  due 12:00:30
  Compensated, because of failure
    film Compensated, attempt 2
  -> shop: undone, number 1, other refused the service refused
       film Compensated, attempt 2
       other Compensated, attempt 2
  reported
  at rest
  ignored: it belongs to an earlier attempt
  at rest
