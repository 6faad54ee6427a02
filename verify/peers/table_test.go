package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func example() []engine {
	return []engine{
		{
			name: "floor", version: "1",
			settings: []setting{{name: "64 at once", turns: []figures{
				{ordersPerS: 900, aloneMS: 1},
				{ordersPerS: 1000, aloneMS: 1},
				{ordersPerS: 1100, aloneMS: 1},
			}}},
		},
		{
			name: "ours", version: "3",
			settings: []setting{{name: "64 at once", turns: []figures{{ordersPerS: 100}}}},
		},
		{name: "other", version: "2", settings: []setting{
			{name: "slow", turns: []figures{{ordersPerS: 100}, {ordersPerS: 100}, {ordersPerS: 5000}}},
			{name: "fast", turns: []figures{
				{ordersPerS: 200, aloneMS: 12},
				{ordersPerS: 250, aloneMS: 12},
				{ordersPerS: 260, aloneMS: 12},
			}},
		}},
	}
}

func TestTablesShowTheBestSettingByItsMedian(t *testing.T) {
	text := tables(example(), "2 cores")
	for _, want := range []string{
		"Medians of the rounds (3)",
		"| other | 2 | fast | 0.40 | 1.00 | 250 (0.25) | 12.00 (12) |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestReplaceKeepsTheRestOfTheDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := replace(file, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != "before\n"+begin+"\nnew\n\n"+end+"after\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(file, []byte("no marks\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replace(file, "new\n"); err == nil {
		t.Error("a document without the marks was replaced")
	}
}

func TestNamesOfSettingsHaveNoPaths(t *testing.T) {
	got := at([]string{"-server", "/opt/server", "-partitions=4"}, []string{"GOGC=400"}, 64)
	if len(got) != 1 || got[0].name != "GOGC=400, -partitions=4, 64 at once" {
		t.Errorf("%+v", got)
	}
}
