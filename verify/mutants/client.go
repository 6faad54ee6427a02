package mutants

// ofClient are mutants of the client, and the command line above it.
var ofClient = []Mutant{
	// Commands whose verdict does not come.
	{Name: "client-lost-verdict-has-no-id", File: "client/command.go", Func: "Client.command", Old: "doubtful(err)", New: "doubtful(nil)"},
	{Name: "client-queued-command-is-unreachable", File: "client/aws/transport.go", Func: "transport.verdict", Old: "Queued: true", New: "Queued: false"},
	{Name: "client-end-of-the-time-hides-the-reason", File: "client/client.go", Func: "again", Old: "last != nil", New: "last == nil"},
	{Name: "client-command-id-is-not-sent", File: "cmd/stepkeeper/internal/cli/command.go", Func: "commandOptions.send", Old: "action.Send(ctx, c, id, 0, o.id)", New: "action.Send(ctx, c, id, 0, \"\")"},

	// Notes.
	{Name: "P14-receipt-without-its-notes", File: "dev/api/submit.go", Func: "edge.submitOne", Old: "result.State, result.Notes, ", New: "result.State, nil, "},
	{Name: "P14-line-without-its-notes", File: "dev/api/stream.go", Func: "answerOf", Old: "Notes: r.Notes", New: "Notes: nil"},

	// Redirects.
	{Name: "client-redirects-are-followed", File: "client/http.go", Func: "newHTTP", Old: "redirect.Refused(*c)", New: "c"},
	{Name: "client-redirect-is-a-success", File: "client/http.go", Func: "overHTTP.send", Old: "resp.StatusCode < 300", New: "resp.StatusCode < 400"},
	{Name: "client-redirect-shows-its-whole-address", File: "shared/redirect/redirect.go", Func: "Target", Old: `"%.200q", u.Scheme+"://"+u.Host`, New: `"%q", u.String()`},

	// Streams.
	{Name: "client-half-a-line-is-an-answer", File: "client/follow.go", Func: "wholeLines", Old: "bufio.ScanLines(data, false)", New: "bufio.ScanLines(data, true)"},
	{Name: "client-a-slow-dial-was-in-use", File: "client/many.go", Func: "brokenUse", Old: "op.Op == \"dial\"", New: "op.Op == \"\""},
	{Name: "cli-outage-is-silent", File: "cmd/stepkeeper/internal/cli/server.go", Func: "outage.awaited", Old: "o.timer == nil && !o.over", New: "o.timer != nil && !o.over"},
	// Answers.
	{Name: "P35-client-answers-the-first-round", File: "client/command.go", Func: "command.present", Old: "c.Round = s.Answers.Round", New: ""},
	{Name: "P35-client-answers-the-first-run", File: "client/command.go", Func: "command.present", Old: "c.Run = t.Run", New: "c.Run = 0"},
	{Name: "P36-verdict-of-an-answer-is-not-found", File: "shared/core/command.go", Func: "Task.Verdict", Old: "if v := t.Steps[i].verdictOf(id); v != nil {", New: "if v := t.Steps[i].verdictOf(id); v != nil && id == \"\" {"},
}
