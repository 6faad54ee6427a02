package mutants

// ofClient are mutants of the client, and the command line above it.
var ofClient = []Mutant{
	// Streams.
	{Name: "client-half-a-line-is-an-answer", File: "client/follow.go", Func: "wholeLines", Old: "bufio.ScanLines(data, false)", New: "bufio.ScanLines(data, true)"},
}
