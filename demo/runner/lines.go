package runner

import (
	"bytes"
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/demo"
	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/shop"
)

// line is one line of the orders file, as it will be sent.
type line struct {
	text   []byte
	id     string      // "" if the line cannot be parsed
	expect audit.Order // expected effects if the order is accepted and processed
}

func readOrders(path string) ([]byte, error) {
	if path == "" {
		return demo.Orders, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the orders: %w", err)
	}
	return text, nil
}

// parseLines cuts a file into lines, whatever its line ends; a byte order mark and blank lines are
// left out.
func parseLines(text []byte) []line {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var lines []line
	for part := range bytes.SplitSeq(text, []byte("\n")) {
		part = bytes.TrimRight(part, "\r")
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		l := line{text: part}
		l.id, l.expect = shop.Expectation(part)
		lines = append(lines, l)
	}
	return lines
}
