package runner

import (
	"bytes"
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

func readOrders(path string) ([]byte, error) {
	if path == "" {
		return shop.Orders(), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the orders: %w", err)
	}
	return text, nil
}

// bookOf returns a Book with the lines of a file. A line ends with LF or CRLF. bookOf skips a byte order mark
// and blank lines.
func bookOf(text []byte) *stage.Book {
	book := &stage.Book{}
	for part := range bytes.SplitSeq(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte("\n")) {
		part = bytes.TrimRight(part, "\r")
		if len(bytes.TrimSpace(part)) > 0 {
			book.Add(part)
		}
	}
	return book
}
