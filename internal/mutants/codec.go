package mutants

// ofCodec are mutants of the reading and writing of messages, task documents and Lambda events.
var ofCodec = []Mutant{}
