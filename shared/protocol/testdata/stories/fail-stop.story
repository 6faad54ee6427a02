# A failure by rule beside a step in flight, with the policy stop: the rule is asked again at each Resubmit, and undo is what remains.
step a
step b
step large fail=too-large when=true after=a stop
step small fail=too-small when=false after=a
step c after=large,small

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    large Pending
    small Pending
    c Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
  Error (forward)
    a Processed, attempt 1
    large Failed
      error of attempt 0 at 12:00:00, too-large: it is refused by rule
    small Skipped
  -> shop: failed, number 1, large too-large it is refused by rule
       a Processed, attempt 1
       b Processing, attempt 1
       large Failed, attempt 0
       small Skipped, attempt 0
       c Pending, attempt 0
  -> operator: forward of step "large", too-large: it is refused by rule (answer to command 0; resubmit; undo)
  reported
  due 12:00:30

event done b/1
----
    b Processed, attempt 1
  attention 12:00:00

event resubmit
----
  resubmit  accepted: 
  -> shop: failed, number 2, large too-large it is refused by rule
       a Processed, attempt 1
       b Processed, attempt 1
       large Failed, attempt 0
       small Skipped, attempt 0
       c Pending, attempt 0
  -> operator: forward of step "large", too-large: it is refused by rule (answer to command 1; resubmit; undo)
  reported
  attention 12:00:00

event undo
----
  undo  accepted: 
  Compensating, because of operator
    b Compensating, attempt 2, locked by scheduler-1, complete by 12:00:30
  -> b-agent: undo-b (undo/2), key o1/0/b, stop by 12:00:30 {"order":{"n":1},"seen":{"b":{"of":"b"}}}
  due 12:00:30
