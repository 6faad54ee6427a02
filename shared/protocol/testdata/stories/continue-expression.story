# A condition or an input that fails: Compensated without a claim, and the fixpoint goes on.
step early after=quote when-failed=quote
step quote when=fails continue
step fedex input=fails continue
step stock
step dhl after=fedex when-failed=fedex
step ups after=quote when-failed=quote

event submit
----
  Processing
    early Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    quote Compensated, failed for good: expression
      error of attempt 0 at 12:00:00, expression: when: no such field
    fedex Compensated, failed for good: expression
      error of attempt 0 at 12:00:00, expression: input: no such field
    stock Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    dhl Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
    ups Processing, attempt 1, locked by scheduler-1, complete by 12:00:30
  -> early-agent: do-early (do/1), key o1/0/early, stop by 12:00:30 {"order":{"n":1}}
  -> stock-agent: do-stock (do/1), key o1/0/stock, stop by 12:00:30 {"order":{"n":1}}
  -> dhl-agent: do-dhl (do/1), key o1/0/dhl, stop by 12:00:30 {"order":{"n":1}}
  -> ups-agent: do-ups (do/1), key o1/0/ups, stop by 12:00:30 {"order":{"n":1}}
  due 12:00:30

event done stock/1
----
    stock Processed, attempt 1
  due 12:00:30

event done dhl/1
----
    dhl Processed, attempt 1
  due 12:00:30

event done ups/1
----
    ups Processed, attempt 1
  due 12:00:30

event done early/1
----
  Processed
    early Processed, attempt 1
  -> shop: completed, number 1, 
       early Processed, attempt 1
       quote Compensated, attempt 0
       fedex Compensated, attempt 0
       stock Processed, attempt 1
       dhl Processed, attempt 1
       ups Processed, attempt 1
  reported
  at rest
