// Package nesting holds the limit of how deep JSON that comes in may be nested, and looks before
// anything recursive sees it. What is stored must stay readable: a reader of JSON gives up at 10,000
// levels, and the documents, messages and answers around a value add levels of their own.
package nesting

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Limit is how many levels of arrays and objects a value that comes in may have: an order, an answer
// of a service, an agent's output, a command.
const Limit = 64

// Message is the same for a message: the envelope around its value is one level more.
const Message = Limit + 1

// Check refuses a value that is nested deeper than Limit. The error says where, and what to do.
func Check(value []byte) error { return check(value, Limit) }

// CheckMessage refuses a message whose value is nested deeper than Limit.
func CheckMessage(message []byte) error { return check(message, Message) }

func check(data []byte, limit int) error {
	if at := rawjson.TooDeep(data, limit); at >= 0 {
		return fmt.Errorf("arrays and objects are nested deeper than %d levels at byte %d; flatten it, or send the deep part as a text",
			Limit, at)
	}
	return nil
}
