package view

import "fmt"

// Count returns a number with its noun, such as "1 order" or "0 orders". The plural of the noun must end in
// s.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
