package mutants

// ofInfra are mutants of the infrastructure.
var ofInfra = []Mutant{}
