package mutants

// ofWiring are mutants of the wiring: Lambda mains and embedded mode.
var ofWiring = []Mutant{}
