package mutants

// ofHTTPAgent are mutants of the ready agent for HTTP services.
var ofHTTPAgent = []Mutant{}
