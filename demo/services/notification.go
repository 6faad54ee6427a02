package services

import "fmt"

// messagesADay is how much the mail provider can take: more than any demo sends.
const messagesADay = 1_000_000_000

func notification() *service {
	return &service{
		name: Notification, do: "confirm", grade: idempotent,
		read:    readConfirm,
		opening: func(string) int64 { return messagesADay },
		lacking: func(string) *refusal { return unprocessable("quota", "too many messages today") },
	}
}

// readConfirm takes any input: past the point of no return nothing may be refused for good.
func readConfirm(key string, _ []byte) (effect, error) {
	return effect{
		amount: 1, unit: "message",
		output: fmt.Sprintf(`{"messageId":%q}`, reference("M", key)),
		parts:  []part{{"messages", 1}},
	}, nil
}
