# P51, P22a: a refusal for good proves that a point of no return had no effect. A new claim removes the proof.
step a
step b after=a no-return

event submit
----
  Processing
    a Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    b Pending
  -> a-agent: do-a (do/1), key o1/0/a, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done a/1
----
    a Processed, attempt 1
    b Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/1), key o1/0/b, stop by 12:00:30, point of no return {"order":{"n":1},"seen":{"a":{"of":"a"}}}
  due 12:00:30

event failed b/1 no-effect
----
  Error (forward)
    b Failed, attempt 1, 1 failed, without effect
      error of attempt 1 at 12:00:00, refused: the service refused
    attempt b/1 ended: failed refused
  -> shop: failed, number 1, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 1
  -> operator: forward of step "b", refused: the service refused (answer to command 0; resubmit; undo; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resubmit r step=b input={"amount":12}
----
  resubmit r accepted: with another input for b
  Processing
    b Processing, attempt 2, input of command 1, locked by scheduler-1, complete by 12:00:30
  -> b-agent: do-b (do/2), key o1/0/b, stop by 12:00:30, point of no return {"amount":12}
  due 12:00:30

event failed b/2
----
  Error (forward)
    b Failed, attempt 2, 1 failed, input of command 1
      error of attempt 2 at 12:00:00, refused: the service refused
    attempt b/2 ended: failed refused
  -> shop: failed, number 2, b refused the service refused
       a Processed, attempt 1
       b Failed, attempt 2
  -> operator: forward of step "b", refused: the service refused (answer to command 1; resubmit; resolve from 12:00:31.001)
  reported
  attention 12:00:00

event resubmit s step=b input="third"
----
  resubmit s refused: step b was asked, and is not proven to have had no effect: its service must not get another input under the same key; fix: find out at the service, and if it did not happen resolve the step as not-happened first; or undo the order, and resubmit it with the input
  attention 12:00:00
