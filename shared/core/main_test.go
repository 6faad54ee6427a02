package core_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain plays 200 worlds for each property, and 20 with -short; -rapid.checks asks for others.
func TestMain(m *testing.M) {
	set("200")
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); testing.Short() && f.Value.String() == "200" {
		set("20")
	}
	os.Exit(m.Run())
}

func set(checks string) {
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
}
