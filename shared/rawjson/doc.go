// Package rawjson walks JSON as text: it finds where values begin and end, and reads members without
// decoding the others; and it holds the limit of how deep what comes in is nested, before anything recursive
// sees it: what is stored must stay readable, and the documents, messages and answers around a value add
// levels of their own. It imports the standard library only.
package rawjson
