package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"
)

// TestHelp compares the help of every command with the recorded text. Each command and each flag explains itself.
func TestHelp(t *testing.T) {
	var all strings.Builder
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		r := call{}.run(t, append([]string{"help"}, path...)...)
		fmt.Fprintf(&all, "$ stepkeeper help %s\n%s%s\n", strings.Join(path, " "), r.out, r.err)
		require.Equal(t, r, call{}.run(t, append(path, "--help")...))
		require.NotEmpty(t, c.Short, c.CommandPath())
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() {
			require.NotEmpty(t, c.Long, "the description of %s", c.CommandPath())
			require.NotEmpty(t, c.Example, "the example of %s", c.CommandPath())
		}
		if c.HasParent() && c.HasSubCommands() {
			require.Equal(t, r, call{}.run(t, path...), "a group alone explains itself")
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, f.Usage, "--%s of %s", f.Name, c.CommandPath())
			require.Contains(t, r.out, "--"+f.Name, c.CommandPath())
		})
	}
	golden.Assert(t, all.String(), "help.txt")
}

// TestRefusedCallsSayWhatToDo: the error of a wrong call states what to do, and nothing is sent.
func TestRefusedCallsSayWhatToDo(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	asking(b)
	c := call{server: serve(t, b).URL}
	var all strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(wrongCalls), "\n") {
		r := c.run(t, wordsOf(t, line)...)
		fmt.Fprintf(&all, "$ stepkeeper %s\n%s%sexit %d\n\n", line, r.out, r.err, r.code)
	}
	require.Empty(t, b.commands, "commands were sent")
	golden.Assert(t, all.String(), "wrong-calls.txt")
}

// TestOutputOfSuccessfulCalls compares the output of successful calls, as text and as JSON, with the recorded
// text.
func TestOutputOfSuccessfulCalls(t *testing.T) {
	server := serve(t, filled()).URL // no command changes an order of the fake
	var all strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(goodCalls), "\n") {
		for _, output := range []string{"text", "json", "text at a terminal"} {
			r := call{server: server, in: "{}", terminal: output == "text at a terminal"}.run(t,
				append(strings.Fields(line), "--output", output[:4])...)
			fmt.Fprintf(&all, "$ stepkeeper %s --output %s\n%s%sexit %d\n\n", line, output,
				strings.ReplaceAll(r.out, "\x1b", "ESC"), strings.ReplaceAll(r.err, "\x1b", "ESC"), r.code)
		}
	}
	golden.Assert(t, all.String(), "good-calls.txt")
}

const goodCalls = `
answer asking approve yes --by ann --command-id c1
approvals
approvals --workflow order
cancel running --command-id c1
close stopped --yes --by ann --reason refunded --command-id c1
dead-letters list
list --where state=Error
list
list --limit 2
list --where workflow=provision,state=processed
move stopped --definition latest --dry-run
resolve stopped zone happened --command-id c1
resubmit stopped --command-id c1
resubmit stopped --input zone=- --command-id c1
resubmit stopped --dry-run
resubmit processed --command-id c1
schedules
show asking
show processed
show stopped
show stopped --messages
show stopped --no-color
show stopped --raw
undo --where state=processed --reason wrong --dry-run
undo stopped running --yes
close --where state=Error --reason settled --dry-run
close stopped --reason settled --dry-run
resolve zone happened --where step=zone --reason settled --dry-run
watch processed
watch stopped
workflow graph ../../../../examples/order/provision.yaml
workflow list
workflow validate ../../../../examples/order/order.yaml
workflow validate ../../../../examples/order/order.yaml --order testdata/input.json
workflow validate ../../../../examples/order/provision.yaml ../../../../examples/order/order.yaml
`

const wrongCalls = `
nothing
resubmit
show ..
submit --workflow order --id .. testdata/input.json
submit --workflow order --id -o testdata/input.json
resubmit --reason fixed --yes
resubmit --where stp=zone --reason fixed --yes
resubmit --where zone --reason fixed --yes
resubmit --where state=Broken --reason fixed --yes
resubmit --where step=zone --yes
resubmit --where step=zone --reason fixed --rate 0 --yes
resubmit --where step=zone --reason fixed --stop-at 5 --yes
resubmit --where step=zone --reason fixed --rate 1e-10 --yes
resubmit --where step=zone --reason fixed --rate NaN --yes
resubmit --where step=zone --reason fixed --stop-at NaN --yes
resubmit --where step=zone --reason fixed --timeout 9000h --yes
move --where step=zone --reason fixed --yes
move --where step=zone --reason fixed --definition newest --yes
resolve zone --where step=zone --reason fixed --yes
resolve zone perhaps --where step=zone --reason fixed --yes
continue
continue nothing.jsonl
resubmit stopped --where step=zone --reason fixed --yes
resolve stopped zone happened --where step=zone --reason fixed --yes
resubmit --where step=nothing --reason fixed --yes
resubmit --where step=nothing --reason fixed --dry-run
resubmit --where step=zone,step=charge --reason fixed --yes
resubmit --where step=zone --where step=charge --reason fixed --yes
resubmit --where step= --reason fixed --yes
resubmit --where step=zone --reason fixed --input zone=testdata/input.json --yes
resubmit --where step=zone --reason fixed --deadline 2h --yes
resubmit stopped --canary 5
undo stopped --journal x.jsonl --yes
undo --where step=zone --reason fixed --command 4 --yes
cancel --where step=zone --reason fixed --unknown --yes
cancel stopped --unknown --dry-run
move --where step=zone --definition latest --reason fixed --simulate --yes
resolve zone happened --where step=zone --reason fixed --step-output testdata/input.json --yes
resubmit --where step=zone --reason fixed
resubmit stopped running --command 1
resubmit stopped running --command-id x
resubmit stopped --deadline yesterday
resubmit stopped --definition newest
resubmit a/b
undo
undo missing --yes
undo --yes stopped running --command 2
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
answer asking approve yes --by 'a<b'
list --where state=Sleeping
list --where stat=Error
list --where state
list --limit 0
list --limit 9223372036854775807 --where state=Compensating
list --where older=-1h
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
agent new
agent new Pay!
agent new pay --module-dir nosuchfolder
agent test
agent test pay
agent test pay --do charge
agent test pay --do charge --effects true --input {
agent test pay --do charge --effects true --earns gold
agent test pay --do charge --effects true --call-timeout 0s
agent test pay --do charge --effects true --timeout -1s
agent test pay --do charge --effects true --between -1
agent test pay --do charge --effects true --between 9223372036854775807
answer asking approve yes --token t
answer asking --token t
console --listen 0.0.0.0:1
console --listen nowhere
console --redact nosuchfile
dead-letters list a b
dead-letters list --body
dead-letters list intake --limit 0
dead-letters list intake --limit 1001
dead-letters redrive intake
dead-letters redrive intake --all --reason x --rate 0
dead-letters redrive intake --all --reason x --rate 1e-10 --yes
dead-letters redrive intake --all --reason x --rate NaN --yes
dead-letters discard intake --all
dev --listen nowhere
dev --listen 0.0.0.0:1
dev --listen example.com:1
dev --max-open 0
dev --sweep-every 0s
dev --sweep-every 2000000h
dev --alert-window -1s
dev --alert-webhook nowhere
dev --workflows nosuchfolder
dev --workflows testdata/notes.txt
dev --workflows testdata --agents nosuchfile.yaml
dev --workflows testdata --agents testdata/notes.txt --keep 30
dev --workflows testdata --agents testdata/notes.txt --keep 1d
dev --workflows testdata --agents testdata/notes.txt --keep 36501d
dev --workflows testdata --agents testdata/notes.txt --redact nosuchfile
dev --workflows testdata --agents testdata/notes.txt --otlp nowhere
dev --log-level loud
dev --log-format xml
dev --example nosuch
dev --example=order --data data
doctor now
init a b
resubmit stopped --input zone
resubmit stopped --input zone=nosuchfile
resubmit stopped running --input zone=testdata/notes.txt
resubmit stopped --input zone=testdata/notes.txt
schedules --region x
simulate ../../../../examples/order/order.yaml --order nosuchfile
simulate ../../../../examples/order/order.yaml --services nosuchfile
simulate --replay nosuchfile
simulate ../../../../examples/order/order.yaml --orders 9223372036854775807
simulate ../../../../examples/order/order.yaml --for 0s
simulate ../../../../examples/order/order.yaml --for 1000000d
simulate ../../../../examples/order/order.yaml --services testdata/services.yaml
doctor --smoke --orders 0
doctor --smoke --orders 100001
doctor --smoke --timeout 0s
doctor --orders 5
doctor --smoke --workflow other
doctor --smoke --order nosuchfile
doctor --smoke --order testdata/notes.txt
aws token-key x
completion tcsh
watch --interval 9ms
watch --limit 0
watch --limit 1001
workflow list --stack x
workflow schema --server ftp://zz
workflow graph testdata/notes.txt
workflow graph ../../../../examples/kyc
workflow graph ../../../../examples/order
workflow validate ../../../../examples/order/order.yaml --agents nosuchfile
workflow validate ../../../../examples/order/order.yaml --agents testdata/notes.txt
workflow validate ../../../../examples/order/order.yaml --order nosuchfile
workflow validate ../../../../examples/order/order.yaml --order testdata/notes.txt
shwo x
workflow valdate
help nonsense
help workflow valdate
show a --colour
show a --timeout soon
show missing --raw
simulate a.yaml --orders many
simulate a.yaml --seed -1
undo a --yes=perhaps
list --server localhost
list --where workflow=provisoin
approvals --workflow provisoin
resubmit --where workflow=ordre --reason fixed --dry-run
submit --id x -
submit .
dev --listen 8377
dev --listen 127.0.0.1:99999
dev --listen localhost:http
dev --example=carrier
simulate ../../../../examples/order/order.yaml --faults rain
simulate ../../../../examples/order/order.yaml --faults crash-befor
simulate ../../../../examples/order/order.yaml --seeds 0
simulate ../../../../examples/order/order.yaml --seeds 99999999999999999999
simulate ../../../../examples/order/order.yaml --order testdata/notes.txt
simulate --replay testdata/notes.txt
doctor --smoke --order testdata/notes.txt/below
doctor --smoke --order /dev/null
answer running charge yes
answer missing approve yes
answer asking approve yes --round -1
answer asking yes --token x --by ann
answer asking yes --token x --event
erase stopped
resubmit stopped --input =x
resubmit stopped --input zoen=testdata/input.json
resolve stopped zone happened --step-output nosuchfile
resolve stopped zone happened --output charged.json
agent new pay --undo create
agent new pay --undo 're fund'
agent new pay --module 'a b'
agent new pay --language cobol
agent new pay --module-dir testdata
agent new pay --dir testdata
agent validate nosuchfile
agent validate testdata/agents.yaml
workflow validate ../../../../examples/order/order.yaml --agents testdata/agents.yaml
workflow validate testdata/broken.yaml
workflow graph testdata/broken.yaml
init shop --module 'a b'
init shop --module-dir testdata
init testdata/notes.txt
init shop --aws --module-dir testdata
`
