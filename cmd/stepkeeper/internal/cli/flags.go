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
		In: app.CommandFlags, Name: "command", To: to,
		Text: "refuse the command unless the order's command number is this `number` (default: the latest one)",
	}
}

func definitionFlag(to *string) app.Flag {
	return app.Flag{
		In: app.CommandFlags, Name: "definition", To: to, Offer: app.Offer{Suggest: []string{"latest"}},
		Text: "definition of the workflow to move to: latest, or a `hash`",
	}
}

func dryRunFlag(to *bool) app.Flag {
	return app.Flag{
		In: app.CommandFlags, Name: "dry-run", To: to,
		Text: "send nothing; print what would happen to each order",
	}
}

func yesFlag(to *bool) app.Flag {
	return app.Flag{In: app.CommandFlags, Name: "yes", To: to, Short: "y", Text: "do not ask first"}
}

// bulkFlags returns the flags of a command to many orders.
func (o *bulkOptions) flags() []app.Flag {
	flags := []app.Flag{
		{
			In: app.WhichOrders, Name: "where", To: &o.where,
			Text: "select orders by `KEY=VALUE,...`: state, workflow, step, code, id, older",
		},
		{
			In: app.PaceFlags, Name: "canary", To: &o.pace.Canary, Least: "0",
			Text: "first send to this `number` of orders; the rest follows when those pass the step; 0 means no canary",
		},
		{In: app.PaceFlags, Name: "rate", To: &o.pace.Rate, Least: "0.001", Most: "1000", Text: "commands a `second`"},
		{
			In: app.PaceFlags, Name: "stop-at", To: &o.pace.StopAt, Least: "0", Most: "1",
			Text: "stop when a larger `share` of orders fails again, 0 to 1",
		},
		{
			In: app.PaceFlags, Name: "patience", To: &o.patience, Least: "1ms", Most: "8784h",
			Text: "time after which an order that has not passed its step counts as unknown",
		},
		{In: app.FileFlags, Name: "journal", To: &o.file, Text: "`file` for the list (default: bulk-ID.jsonl in this folder)"},
		dryRunFlag(&o.dryRun), yesFlag(&o.yes),
	}
	return append(flags, recordFlags(&o.action.By, &o.action.Reason, "command")...)
}
