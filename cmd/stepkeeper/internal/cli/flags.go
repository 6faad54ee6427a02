package cli

import (
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
)

// The flags that several commands have.

// recordFlags returns the flags of who did something and why. The parameter what keeps them.
func recordFlags(by, reason *string, what string) []app.Flag {
	return []app.Flag{
		{
			In: app.RecordFlags, Name: "by", To: by,
			Text: "your `name`, kept with the " + what + " (default: the user of this computer)",
		},
		{In: app.RecordFlags, Name: "reason", To: reason, Text: "your reason as `text`, kept with the " + what},
	}
}

func numberFlag(to *int) app.Flag {
	return app.Flag{
		In: app.CommandFlags, Name: "command", To: to, Least: "0",
		Text: "refuse the command unless the order's command number is this `number` (default: the latest one)",
	}
}

func definitionFlag(to *string) app.Flag {
	return app.Flag{
		In: app.CommandFlags, Name: "definition", To: to, Offer: app.Offer{Suggest: []string{"latest"}},
		Text: "definition of the workflow to move to: latest, or a `hash`",
	}
}

func yesFlag(to *bool) app.Flag {
	return app.Flag{In: app.CommandFlags, Name: "yes", To: to, Short: "y", Text: "do not ask first"}
}
