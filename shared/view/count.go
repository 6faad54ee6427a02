package view

import "fmt"

// Count returns a number with its noun, whose plural ends in s: "1 order", "0 orders".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
