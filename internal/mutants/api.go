package mutants

// ofAPI are mutants of the HTTP edge of embedded mode.
var ofAPI = []Mutant{}
