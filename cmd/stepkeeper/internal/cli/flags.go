package cli

import (
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
)

// The flags that several commands have.

// recordFlags returns the flags of who did something and why. The parameter what keeps them.
func recordFlags(by, reason *string, what string) []app.Flag {
	return []app.Flag{
		app.RecordFlags.Flag("by", by,
			"your `name`, kept with the "+what+" (default: the user of this computer)"),
		app.RecordFlags.Flag("reason", reason, "your reason as `text`, kept with the "+what),
	}
}

func numberFlag(to *int) app.Flag {
	return app.CommandFlags.Flag("command", to,
		"refuse the command unless the order's command number is this `number` (default: the latest one)").Within("0", "")
}

func definitionFlag(to *string) app.Flag {
	return app.CommandFlags.Flag("definition", to,
		"definition of the workflow to move to: latest, or a `hash`").Offers(app.Offer{Suggest: []string{"latest"}})
}

func yesFlag(to *bool) app.Flag {
	return app.Flag{In: app.CommandFlags, Name: "yes", To: to, Short: "y", Text: "do not ask first"}
}
