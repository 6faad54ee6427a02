package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P22a, P24, P31, P45 as scripts. The first line is the setting: the grade of the step, "pivot" for a point of no
// return, the number of own tries, and what is the matter with the ledger or the check. Every other line is a request:
// its operation and attempt, what the service answers to each of its calls, the operator's fact, or what the check
// finds. A call without an answer is done. Behind the arrow stands what the request leads to.
func TestScripts(t *testing.T) {
	for name, script := range map[string]string{
		"done and undone": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 => 1 calls, 0 checks, done
			undo/2 => 0 calls, 0 checks, done`,
		"undone before it came": `
			plain
			undo/2 => 0 calls, 0 checks, done
			do/1 => 0 calls, 0 checks, failed fenced`,
		"in doubt stays so": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/1 => 0 calls, 1 checks, silent
			do/2 => 0 calls, 1 checks, silent
			undo/3 => 0 calls, 0 checks, failed in-doubt`,
		"never sent is tried again": `
			plain
			do/1 unsent => 1 calls, 0 checks, retry-later failed
			do/2 => 1 calls, 0 checks, done "called"`,
		"refused, and a new attempt": `
			plain
			do/1 denied => 1 calls, 0 checks, failed no-room
			do/1 => 0 calls, 0 checks, failed no-room
			do/2 => 1 calls, 0 checks, done "called"`,
		"refused, undone": `
			plain
			do/1 denied => 1 calls, 0 checks, failed no-room
			undo/2 => 0 calls, 0 checks, done`,
		"refused without proof": `
			plain
			do/1 permanent => 1 calls, 0 checks, failed failed
			do/2 => 0 calls, 1 checks, silent
			undo/3 => 0 calls, 0 checks, failed in-doubt`,
		"done, with an output that cannot be used": `
			plain
			do/1 unreadable => 1 calls, 0 checks, failed unreadable
			do/1 => 0 calls, 0 checks, done
			undo/2 => 1 calls, 0 checks, done`,
		"not yet is a proof": `
			plain
			do/1 not-yet => 1 calls, 0 checks, retry-later not-yet after 1m0s
			do/2 => 1 calls, 0 checks, done "called"`,
		"undo in doubt": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 lost => 1 calls, 0 checks, retry-later failed
			undo/3 => 0 calls, 1 checks, failed in-doubt`,
		"undo never sent": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 unsent => 1 calls, 0 checks, retry-later failed
			undo/3 => 1 calls, 0 checks, done`,
		"the output of an undo is dropped": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 unkept => 1 calls, 0 checks, done
			undo/2 => 0 calls, 0 checks, done`,
		"resolved: it happened": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			undo/2 fact=happened => 1 calls, 0 checks, done`,
		"resolved: it did not": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 fact=not-happened => 1 calls, 0 checks, done "called"
			do/2 fact=not-happened => 0 calls, 0 checks, done "called"`,
		"resolved: undone by hand": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			undo/2 fact=undone => 0 calls, 0 checks, done`,
		"resolved: undo did not": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 lost => 1 calls, 0 checks, retry-later failed
			undo/3 fact=happened => 1 calls, 0 checks, done`,
		"the check finds it": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 found=1 => 0 calls, 1 checks, done "found"
			undo/3 => 1 calls, 0 checks, done`,
		"the check finds the undo": `
			plain
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 lost => 1 calls, 0 checks, retry-later failed
			undo/3 found=1 => 0 calls, 1 checks, done
			undo/3 => 0 calls, 0 checks, done`,
		"no check for what never was": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			undo/2 found=1 => 0 calls, 0 checks, failed in-doubt`,
		"the check is refused": `
			plain
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 check=unauthorized => 0 calls, 1 checks, retry-later unauthorized
			do/3 check=not-yet => 0 calls, 1 checks, retry-later not-yet after 1m0s`,
		"own tries: lost and found": `
			plain tries=3
			do/1 lost found=1 => 1 calls, 1 checks, done "found"`,
		"own tries: found later": `
			plain tries=3
			do/1 lost found=2 => 1 calls, 2 checks, done "found"`,
		"own tries: never found": `
			plain tries=3
			do/1 lost => 1 calls, 2 checks, retry-later in-doubt`,
		"own tries: without a check": `
			plain tries=3 unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed`,
		"own tries: never sent": `
			plain tries=3
			do/1 unsent unsent unsent => 3 calls, 0 checks, retry-later failed`,
		"own tries: a refusal ends it all": `
			plain tries=3
			do/1 denied => 1 calls, 0 checks, failed no-room`,
		"own tries: turned away": `
			plain tries=3
			do/1 unauthorized => 1 calls, 0 checks, retry-later unauthorized
			do/2 not-yet => 1 calls, 0 checks, retry-later not-yet after 1m0s`,
		"the ledger cannot be read": `
			plain unread
			do/1 => 0 calls, 0 checks, retry-later ledger`,
		"the ledger cannot be written": `
			plain writes=0
			do/1 => 0 calls, 0 checks, retry-later ledger`,
		"the ledger is in conflict": `
			plain conflicts=3
			do/1 => 1 calls, 0 checks, done "called"`,
		"the ledger is always in conflict": `
			plain conflicts=1000
			do/1 => 0 calls, 0 checks, retry-later ledger`,
		"known key: undo": `
			idempotent
			do/1 => 1 calls, 0 checks, done "called"
			undo/2 unkept => 1 calls, 1 checks, done
			undo/2 => 1 calls, 1 checks, done`,
		"known key: the undo fails": `
			idempotent
			undo/1 permanent => 1 calls, 0 checks, failed failed`,
		"known key: a check comes before each repeated call": `
			idempotent tries=2
			do/1 found=1 => 1 calls, 0 checks, done "called"
			do/2 found=1 => 0 calls, 1 checks, done "found"
			do/2 => 1 calls, 1 checks, done "called"`,
		"known key: before an own try": `
			idempotent tries=2
			do/1 lost found=1 => 1 calls, 1 checks, done "found"
			do/1 lost => 2 calls, 1 checks, done "called"
			do/1 unsent found=1 => 2 calls, 0 checks, done "called"`,
		"known key: a check that fails": `
			idempotent tries=2
			do/2 check=lost => 0 calls, 2 checks, retry-later check-failed
			do/2 check=permanent => 0 calls, 2 checks, retry-later check-failed
			do/1 lost check=lost => 1 calls, 1 checks, retry-later check-failed`,
		"known key: the check is refused": `
			idempotent
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 check=unauthorized => 0 calls, 1 checks, retry-later unauthorized
			do/3 check=not-yet => 0 calls, 1 checks, retry-later not-yet after 1m0s`,
		"known key: turned away": `
			idempotent tries=3 unchecked
			do/1 unauthorized => 1 calls, 0 checks, retry-later unauthorized
			do/1 not-yet => 1 calls, 0 checks, retry-later not-yet after 1m0s
			do/1 http-500 unauthorized => 2 calls, 0 checks, retry-later http-500
			do/1 http-500 not-yet => 2 calls, 0 checks, retry-later http-500
			do/1 unsent unauthorized => 2 calls, 0 checks, retry-later unauthorized
			do/1 unsent not-yet => 2 calls, 0 checks, retry-later not-yet after 1m0s
			do/1 own-code own-code own-code => 3 calls, 0 checks, retry-later failed`,
		"known key: own tries": `
			idempotent tries=3 unchecked
			do/1 lost lost => 3 calls, 0 checks, done "called"
			do/1 lost lost lost => 3 calls, 0 checks, retry-later failed
			do/1 permanent => 1 calls, 0 checks, failed failed
			do/1 lost permanent => 2 calls, 0 checks, failed failed
			do/1 soon => 2 calls, 0 checks, done "called"
			do/1 late => 1 calls, 0 checks, retry-later failed after 9s`,
		"no return: done": `
			idempotent pivot unchecked
			do/1 => 1 calls, 0 checks, done "called"
			do/1 => 1 calls, 0 checks, done "called"`,
		"no return: refused, and a copy": `
			idempotent pivot unchecked
			do/1 denied => 1 calls, 0 checks, failed no-room, no effect
			do/1 => 0 calls, 0 checks, failed no-room, no effect`,
		"no return: refused for now, and a copy": `
			idempotent pivot unchecked
			do/1 unsent => 1 calls, 0 checks, retry-later failed, no effect
			do/1 => 0 calls, 0 checks, retry-later failed, no effect`,
		"no return: refused for now, then done": `
			idempotent pivot unchecked
			do/1 unsent => 1 calls, 0 checks, retry-later failed, no effect
			do/2 => 1 calls, 0 checks, done "called"
			do/1 => 0 calls, 0 checks, silent`,
		"no return: refused twice": `
			idempotent pivot unchecked
			do/1 unsent => 1 calls, 0 checks, retry-later failed, no effect
			do/2 denied => 1 calls, 0 checks, failed no-room, no effect
			do/1 => 0 calls, 0 checks, failed no-room, no effect`,
		"no return: in doubt, then refused": `
			idempotent pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 denied => 1 calls, 0 checks, failed no-room
			do/3 denied => 1 calls, 0 checks, failed no-room`,
		"no return: failed without a word": `
			idempotent pivot unchecked
			do/1 permanent => 1 calls, 0 checks, failed failed`,
		"no return: in doubt, resolved, then refused": `
			idempotent pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 denied fact=not-happened => 1 calls, 0 checks, failed no-room, no effect`,
		"no return: not yet": `
			idempotent pivot unchecked
			do/1 not-yet => 1 calls, 0 checks, retry-later not-yet after 1m0s, no effect
			do/2 => 1 calls, 0 checks, done "called"`,
		"no return: not called at all": `
			idempotent pivot unchecked
			withdraw/1 => 0 calls, 0 checks, retry-later unknown-operation, no effect
			do/1 => 0 calls, 0 checks, retry-later unknown-operation, no effect
			do/2 => 1 calls, 0 checks, done "called"`,
		"no return: not called after one in doubt": `
			idempotent pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			withdraw/2 => 0 calls, 0 checks, retry-later unknown-operation`,
		"no return: a copy that cannot call": `
			idempotent pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			withdraw/1 => 0 calls, 0 checks, retry-later unknown-operation`,
		"no return: not called, with a fact": `
			idempotent pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			withdraw/2 fact=not-happened => 0 calls, 0 checks, retry-later unknown-operation, no effect`,
		"no return: without a ledger": `
			idempotent pivot ledgerless
			do/1 denied => 1 calls, 0 checks, failed no-room`,
		"no return: a proof that is not stored": `
			idempotent pivot writes=1
			do/1 denied => 1 calls, 0 checks, failed no-room`,
		"no return: a lost write": `
			idempotent pivot conflicts=1
			do/1 denied => 1 calls, 0 checks, failed no-room, no effect`,
		"no return: own tries, all refused": `
			idempotent pivot tries=3 unchecked
			do/1 unsent unsent unsent => 3 calls, 0 checks, retry-later failed, no effect`,
		"no return: own tries, refused for good at the end": `
			idempotent pivot tries=3 unchecked
			do/1 unsent unsent denied => 3 calls, 0 checks, failed no-room, no effect`,
		"no return: own tries, the first in doubt": `
			idempotent pivot tries=3 unchecked
			do/1 lost unsent unsent => 3 calls, 0 checks, retry-later failed`,
		"no return: own tries, the last in doubt": `
			idempotent pivot tries=3 unchecked
			do/1 unsent unsent lost => 3 calls, 0 checks, retry-later failed`,
		"plain, no return: refused": `
			plain pivot unchecked
			do/1 denied => 1 calls, 0 checks, failed no-room, no effect
			do/1 => 0 calls, 0 checks, failed no-room, no effect`,
		"plain, no return: refused for now, then done": `
			plain pivot unchecked
			do/1 unsent => 1 calls, 0 checks, retry-later failed, no effect
			do/1 => 0 calls, 0 checks, retry-later failed, no effect
			do/2 => 1 calls, 0 checks, done "called"
			do/2 => 0 calls, 0 checks, done "called"`,
		"plain, no return: in doubt": `
			plain pivot unchecked
			do/1 lost => 1 calls, 0 checks, retry-later failed
			do/2 => 0 calls, 0 checks, silent
			do/3 denied fact=not-happened => 1 calls, 0 checks, failed no-room, no effect`,
		"plain, no return: own tries ask": `
			plain pivot tries=3
			do/1 lost => 1 calls, 2 checks, retry-later in-doubt`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want []string
				for line := range strings.Lines(script) {
					line = strings.TrimSpace(line)
					if line != "" {
						want = append(want, line)
					}
				}
				p := newPlay(t, want[0])
				got := want[:1:1]
				for _, line := range want[1:] {
					request, _, _ := strings.Cut(line, " => ")
					got = append(got, request+" => "+p.handle(request))
				}
				require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
			})
		})
	}
}

// answers are what a service and its check can say.
var answers = map[string]error{
	"lost":         errors.New("reset"),
	"unsent":       worker.NoEffect(errors.New("refused")),
	"denied":       worker.WithCode(worker.NoEffect(worker.Permanent(errors.New("no room"))), "no-room"),
	"permanent":    worker.Permanent(errors.New("no")),
	"unreadable":   &worker.Failure{Permanent: true, Happened: true, Code: "unreadable", Err: errors.New("garbled")},
	"http-500":     worker.WithCode(errors.New("down"), "http-500"),
	"unauthorized": worker.Unauthorized(errors.New("the token has expired")),
	"not-yet":      fmt.Errorf("not collected: %w", worker.NotYet(time.Minute)),
	"soon":         worker.RetryAfter(errors.New("busy"), 2*time.Second),
	"late":         worker.RetryAfter(errors.New("busy"), 9*time.Second),
	"own-code":     worker.WithCode(errors.New("who knows"), core.CodeUnauthorized),
}

// play is a worker whose service follows a script.
type play struct {
	*bench
	grade         core.Grade
	pivot         bool
	answers       []string
	found         int   // number of the check that finds the effect; 0 means none
	checked       error // error of the check
	calls, checks int
}

func newPlay(t *testing.T, setting string) *play {
	t.Helper()
	p := &play{pivot: strings.Contains(setting, "pivot")}
	grade, rest, _ := strings.Cut(setting, " ")
	p.grade = core.Grade(grade)
	ledger := &sickLedger{Ledger: memory.NewLedger(), moves: 1000}
	c := worker.Config{Ledger: ledger, Retry: worker.Retry{Tries: 1}}
	operation := worker.Operation{Run: p.run, Check: p.check}
	for word := range strings.FieldsSeq(rest) {
		name, number, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(number)
		switch name {
		case "tries":
			c.Retry.Tries = n
		case "unchecked":
			operation.Check = nil
		case "ledgerless":
			c.Ledger = nil
		case "unread":
			ledger.entry = port.ErrUnavailable
		case "writes": // so many of them succeed
			ledger.moves = n
		case "conflicts":
			ledger.conflicts = n
		}
	}
	c.Operations = worker.Operations{"do": operation, "undo": operation}
	p.bench = newBench(t, port.ClockFunc(time.Now), c)
	return p
}

func (p *play) run(_ context.Context, c worker.Call) (any, error) {
	p.calls++
	if p.checks == 0 {
		require.Equal(p.t, p.calls, c.Try)
	}
	if p.calls > len(p.answers) {
		return "called", nil
	}
	if p.answers[p.calls-1] == "unkept" {
		return make(chan int), nil
	}
	return nil, answers[p.answers[p.calls-1]]
}

func (p *play) check(context.Context, worker.Call) (bool, any, error) {
	p.checks++
	return p.checks == p.found, "found", p.checked
}

// handle makes one request, and returns what came of it.
func (p *play) handle(line string) string {
	*p = play{bench: p.bench, grade: p.grade, pivot: p.pivot}
	words := strings.Fields(line)
	name, attempt, _ := strings.Cut(words[0], "/")
	req := request(time.Now())
	req.Name = name
	req.Operation = core.Operation(name)
	if name == "withdraw" { // which the agent does not have
		req.Operation = core.Do
	}
	req.Attempt, _ = strconv.Atoi(attempt)
	req.Grade = p.grade
	req.PointOfNoReturn = p.pivot
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "fact": // the same each time: once per command
			req.Resolved = &core.Resolved{Fact: core.Fact(value), Command: 1}
		case "found":
			p.found, _ = strconv.Atoi(value)
		case "check":
			p.checked = answers[value]
		default:
			p.answers = append(p.answers, word)
		}
	}
	verdict := p.worker.Handle(context.Background(), delivery(req))
	said := "silent"
	if all := p.replies(); len(all) > 0 {
		said = describe(all[0])
	}
	if !verdict.Delete {
		said = "returned"
	}
	return fmt.Sprintf("%d calls, %d checks, %s", p.calls, p.checks, said)
}

func describe(r *message.Reply) string {
	text := string(r.Outcome)
	if r.Error != nil {
		text += " " + r.Error.Code
	}
	if len(r.Output) > 0 {
		text += " " + string(r.Output)
	}
	if r.RetryAfter > 0 {
		text += " after " + r.RetryAfter.Std().String()
	}
	if r.NoEffect {
		text += ", no effect"
	}
	return text
}
