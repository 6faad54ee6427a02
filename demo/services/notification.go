package services

import "fmt"

// messagesADay is the capacity of the mail provider. No demo sends so many messages.
const messagesADay = 1_000_000_000

func notification() *service {
	return &service{
		name: Notification, do: "confirm", grade: idempotent,
		read:    readConfirm,
		opening: func(string) int64 { return messagesADay },
		lacking: func(string) *refusal { return unprocessable("quota", "too many messages today") },
	}
}

// readConfirm accepts any input, because no step may fail for good after the point of no return.
func readConfirm(key string, _ []byte) (row, error) {
	return row{
		Amount: 1, Unit: "message",
		Output: fmt.Sprintf(`{"messageId":%q}`, reference("M", key)),
		Parts:  []part{{Account: "messages", Quantity: 1}},
	}, nil
}
