package main

// equivalent is a mutant that no test can notice. Function and text name it, so that it stays what it
// is when lines move.
type equivalent struct {
	Package string // folder
	Func    string
	Before  string // the lines that it changes, as the survivor's report shows them
	After   string
	Why     string
}

// equivalents are drawn like all others, and neither run nor counted.
var equivalents = []equivalent{}
