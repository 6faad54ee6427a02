package mutants

// ofSQS are mutants of the queues on SQS.
var ofSQS = []Mutant{}
