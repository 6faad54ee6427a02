package core_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain plays 200 worlds for each property (with -short rapid plays a fifth of them);
// -rapid.checks asks for another number.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "200"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
