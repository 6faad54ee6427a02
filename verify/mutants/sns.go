package mutants

// ofSNS are mutants of the alerts: what they say, and how SNS is told.
var ofSNS = []Mutant{
	{Name: "sns-alert-without-attempts", File: "shared/core/end.go", Func: "deciding.alert", Old: "a.Attempts = t.Steps[i].Attempt", New: "", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-without-its-key", File: "shared/core/end.go", Func: "deciding.alert", Old: "if t.Steps[i].Attempted() {", New: "if false {", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-without-phase-and-run", File: "shared/core/end.go", Func: "deciding.alert", Old: "Run: t.Run, Command: t.EndCommand, Phase: t.Phase,", New: "Command: t.EndCommand,", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-without-workflow", File: "shared/core/end.go", Func: "deciding.alert", Old: " Workflow: t.Workflow,", New: "", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-without-code", File: "shared/core/end.go", Func: "deciding.alert", Old: " Code: t.EndCode,", New: "", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-without-since", File: "shared/core/end.go", Func: "deciding.alert", Old: ", At: t.Ended}\n", New: "}\n", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-offers-undo-past-no-return", File: "shared/core/end.go", Func: "deciding.alert", Old: "Undo: then.undoRefusal() == \"\"", New: "Undo: true", Killers: []string{"core", "scheduler-wiring"}},
	{Name: "sns-alert-offers-resubmit-of-forgotten-keys", File: "shared/core/end.go", Func: "deciding.alert", Old: "Resubmit: then.expiredKey() == \"\"", New: "Resubmit: true", Killers: []string{"core"}},
	{Name: "sns-alert-offers-any-fact", File: "shared/core/end.go", Func: "deciding.alert", Old: "then.resolveRefusal(i, NotHappened) == \"\"", New: "true", Killers: []string{"core"}},
	{Name: "P12-alert-goes-with-the-times", File: "shared/core/end.go", Func: "deciding.alert", Old: "at: At{Now: t.Ended}", New: "at: r.at", Killers: []string{"core"}},
	{Name: "sns-mail-without-undo", File: "shared/message/alert.go", Func: "AlertOf", Old: "if a.Accepts.Undo && a.Phase != core.Undoing {", New: "if false {", Killers: []string{"message", "sns"}},
	{Name: "sns-mail-without-show", File: "shared/message/alert.go", Func: "AlertOf", Old: `add("Look at it", "show", a.OrderID)`, New: "", Killers: []string{"message", "sns"}},
	{Name: "sns-mail-without-resubmit", File: "shared/message/alert.go", Func: "AlertOf", Old: "if a.Accepts.Resubmit {", New: "if false {", Killers: []string{"message", "sns"}},
	{Name: "sns-commands-of-another-server", File: "shared/message/alert.go", Func: "AlertOf", Old: "strings.Fields(options)...", New: "strings.Fields(\"\")...", Killers: []string{"message", "sns"}},
	{Name: "sns-mail-without-code", File: "shared/message/alert.go", Func: "Alert.Facts", Old: `{"code", a.Code},`, New: "", Killers: []string{"message", "sns"}},
	{Name: "sns-mail-without-since", File: "shared/message/alert.go", Func: "Alert.Facts", Old: `, {"since", a.At.String()},`, New: ",", Killers: []string{"message", "sns"}},
	{Name: "sns-mail-is-for-machines", File: "shared/sns/alerts.go", Func: "Alerts.Raise", Old: `"email": full.Text()`, New: `"email": string(machine)`},
	{Name: "sns-alert-as-plain-text", File: "shared/sns/alerts.go", Func: "Alerts.Raise", Old: `MessageStructure: aws.String("json"), `, New: ""},
	{Name: "sns-publication-without-limit", File: "shared/sns/alerts.go", Func: "Alerts.Raise", Old: "ctx, cancel := context.WithTimeout(ctx, a.timeout)", New: "ctx, cancel := context.WithCancel(ctx)"},
	{Name: "I19-alert-that-was-not-taken", File: "shared/sns/alerts.go", Func: "Alerts.Raise", Old: "return fmt.Errorf(\"alert of task %q to topic %s: %w: %w\", alert.OrderID, a.topic, port.ErrUnavailable, err)", New: "return nil"},
	{Name: "sns-subject-of-any-length", File: "shared/sns/alerts.go", Func: "subject", Old: "s[:min(len(s), maxSubject)]", New: "s"},
	{Name: "sns-subject-of-any-characters", File: "shared/sns/alerts.go", Func: "subject", Old: "if r < ' ' || r > '~' {", New: "if false {"},
	{Name: "sns-log-without-facts", File: "dev/embedded/runtime.go", Func: "alerts.Raise", Old: "attributes = append(attributes, f.Name, f.Value)", New: "_ = f"},
	{Name: "sns-log-without-commands", File: "dev/embedded/runtime.go", Func: "alerts.Raise", Old: `append(attributes, "commands", alert.Commands)...`, New: "attributes..."},
}
