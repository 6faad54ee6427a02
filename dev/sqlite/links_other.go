//go:build !unix

package sqlite

func hasOtherNames(string) bool { return false }
