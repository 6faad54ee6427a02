// Package examples holds the workflows of this folder. `stepkeeper dev --example=NAME` runs one example, and
// NAME_test.go tests it: copy the folder and its test.
package examples

import (
	"embed"
	"io/fs"
	"path"
)

// Files holds the files of the examples; see Names. outputs.json lists what the operations of an example return, one
// output for each key: {"agent.operation": [first, second, …]}. The last one stands for all that follow.
//
//go:embed */*.yaml */order.json */outputs.json
var Files embed.FS

// Names returns the sorted names of the examples. An example is a folder with a workflow of its name and an order.json.
func Names() (names []string) {
	orders, _ := fs.Glob(Files, "*/order.json") // the pattern is well formed
	for _, order := range orders {
		name := path.Dir(order)
		if _, err := fs.Stat(Files, path.Join(name, name+".yaml")); err == nil {
			names = append(names, name)
		}
	}
	return names
}
