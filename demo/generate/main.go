// Command generate writes the demo's orders file. The same seed gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/demo/shop"
)

func main() {
	out := flag.String("o", "orders.jsonl", "file to write")
	seed := flag.Uint64("seed", 1, "seed of the shop's day")
	lines := flag.Int("lines", 1000, "number of lines, at least 200")
	flag.Parse()
	if *lines < 200 {
		fmt.Fprintln(os.Stderr, "generate: at least 200 lines are needed to hold every kind of broken line")
		os.Exit(2)
	}
	if err := os.WriteFile(*out, shop.File(*seed, *lines), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
