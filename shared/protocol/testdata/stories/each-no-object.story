# A child's order that is no JSON object counts as a failed child.
step ship each=text,good tolerate=1

event submit
----
  Processing
    ship Waiting, attempt 1, next 2 of 2, open 1, 1 failed: [0], expression: the order of child 0 is no JSON object, waits until 12:10:00, complete by 12:10:05
  -> o1~ship~1/1: start {"item":"good","index":1}
  -> scheduler: wake ship/1, at 12:10:00
  due 12:10:05
