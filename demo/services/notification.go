package services

import "fmt"

// messagesADay is the mail provider's capacity: more than any demo sends.
const messagesADay = 1_000_000_000

func notification() *service {
	return &service{
		name: Notification, do: "confirm", grade: idempotent,
		read:    readConfirm,
		opening: func(string) int64 { return messagesADay },
		lacking: func(string) *refusal { return unprocessable("quota", "too many messages today") },
	}
}

// readConfirm accepts any input, because nothing may be refused for good past the point of no return.
func readConfirm(key string, _ []byte) (effect, error) {
	return effect{
		amount: 1, unit: "message",
		output: fmt.Sprintf(`{"messageId":%q}`, reference("M", key)),
		parts:  []part{{"messages", 1}},
	}, nil
}
