package mutants

// ofWorkflows are mutants of workflow files and expressions.
var ofWorkflows = []Mutant{}
