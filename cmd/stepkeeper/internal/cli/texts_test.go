package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestHelp: the help of every command, as people read it.
func TestHelp(t *testing.T) {
	var all strings.Builder
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		r := call{}.run(t, append([]string{"help"}, path...)...)
		fmt.Fprintf(&all, "$ stepkeeper help %s\n%s%s\n", strings.Join(path, " "), r.out, r.err)
	}
	golden(t, "help.txt", all.String())
}

// TestRefusedCallsSayWhatToDo: what is said of calls that cannot be carried out, before anything is sent.
func TestRefusedCallsSayWhatToDo(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	asking(b)
	c := call{server: serve(t, b).URL}
	var all strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(wrongCalls), "\n") {
		r := c.run(t, strings.Fields(line)...)
		fmt.Fprintf(&all, "$ stepkeeper %s\n%s%sexit %d\n\n", line, r.out, r.err, r.code)
	}
	if len(b.commands) > 0 {
		t.Errorf("commands were sent: %+v", b.commands)
	}
	golden(t, "wrong-calls.txt", all.String())
}

const wrongCalls = `
nothing
resubmit
bulk
bulk resubmt
bulk resubmit --reason fixed --yes
bulk resubmit --where stp=zone --reason fixed --yes
bulk resubmit --where zone --reason fixed --yes
bulk resubmit --where state=Broken --reason fixed --yes
bulk resubmit --where step=zone --yes
bulk resubmit --where step=zone --reason fixed --rate 0 --yes
bulk resubmit --where step=zone --reason fixed --stop-at 5 --yes
bulk move --where step=zone --reason fixed --yes
bulk move --where step=zone --reason fixed --definition newest --yes
bulk resolve zone --where step=zone --reason fixed --yes
bulk resolve zone perhaps --where step=zone --reason fixed --yes
bulk continue
bulk continue nothing.jsonl
resubmit stopped running --command 1
resubmit stopped running --command-id x
resubmit stopped --deadline yesterday
resubmit stopped --definition newest
resubmit a/b
undo
undo missing
undo stopped running --command 2
cancel missing
resolve stopped zone
resolve stopped zone perhaps
resolve stopped nozone happened
move stopped
move stopped --definition newest
close stopped
close stopped --reason x --by
answer asking approve
answer asking pay yes
answer asking approve yes --by a<b
list --state Sleeping
list --limit 0
list --older-than -1h
list --output yaml
show
show missing
show a b
watch missing
submit
submit nosuchfile.json
workflow validate
workflow validate nosuchfile.yaml
workflow graph nosuchfile.yaml
simulate
simulate nosuchfile.yaml
schedules now
list --server ftp://x
list --server http://example.com --stack Shop
list --timeout -1s
`
