// Package rawjson walks JSON as text: it finds where values begin and end, and reads members without
// decoding the others. It imports the standard library only.
package rawjson
