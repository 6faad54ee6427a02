package mutants

// ofClient are mutants of the client, and the command line above it.
var ofClient = []Mutant{}
