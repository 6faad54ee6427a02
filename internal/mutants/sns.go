package mutants

// ofSNS are mutants of the alerts on SNS.
var ofSNS = []Mutant{}
