package queuetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// long is a visibility timeout that no test outlives.
const long = time.Hour

func (s *suite) queue(name string) port.Queue {
	s.Helper()
	q, err := s.Queues.Queue(name)
	require.NoError(s, err, name)
	return q
}

func text(body string) port.Message { return port.Message{Body: []byte(body)} }

// send sends texts that have to be taken.
func (s *suite) send(q port.Sender, bodies ...string) {
	s.Helper()
	for _, body := range bodies {
		s.sendMessage(q, text(body))
	}
}

func (s *suite) sendMessage(q port.Sender, messages ...port.Message) {
	s.Helper()
	errs := q.Send(s.ctx, messages)
	require.Len(s, errs, len(messages))
	for i, err := range errs {
		require.NoError(s, err, "%+v", i)
	}
}

// take receives exactly n messages.
func (s *suite) take(q port.Queue, n int, visibility time.Duration) []port.Delivery {
	s.Helper()
	var all []port.Delivery
	for deadline := time.Now().Add(10 * time.Second); len(all) < n; {
		got, err := q.Receive(s.ctx, min(n-len(all), port.MaxBatch), s.patience(), visibility)
		require.NoError(s, err)
		all = append(all, got...)
		if len(got) == 0 && (s.Advance != nil || time.Now().After(deadline)) {
			s.Fatalf("queue %q gives %d messages, want %d", q.Name(), len(all), n)
		}
	}
	return all
}

// patience is how long to wait for a message that is there: no time where the clock stands still.
func (s *suite) patience() time.Duration {
	if s.Advance != nil {
		return 0
	}
	return s.unit
}

func (s *suite) one(q port.Queue, visibility time.Duration) port.Delivery {
	s.Helper()
	return s.take(q, 1, visibility)[0]
}

// none checks that nothing is to be had.
func (s *suite) none(q port.Queue) {
	s.Helper()
	got, err := q.Receive(s.ctx, port.MaxBatch, 0, long)
	require.NoError(s, err)
	require.Empty(s, got)
}

// bodies are the deliveries' texts, sorted.
func (s *suite) bodies(deliveries []port.Delivery) []string {
	s.Helper()
	var all []string
	for _, d := range deliveries {
		b, err := d.Bytes()
		require.NoError(s, err, "Bytes")
		all = append(all, string(b))
	}
	slices.Sort(all)
	return all
}

func (s *suite) bodiesAre(deliveries []port.Delivery, want ...string) {
	s.Helper()
	slices.Sort(want)
	require.Equal(s, want, s.bodies(deliveries))
}

// is checks an error against a sentinel; nil means no error.
func (s *suite) is(what string, err, sentinel error) {
	s.Helper()
	require.ErrorIs(s, err, sentinel, what)
}

// extend hides one delivery and answers the error.
func (s *suite) extend(q port.Queue, receipt string, d time.Duration) error {
	return q.Extend(s.ctx, []port.Extension{{Receipt: receipt, For: d}})[0]
}

// remove deletes one delivery and answers the error.
func (s *suite) remove(q port.Queue, receipt string) error {
	s.Helper()
	errs := q.Delete(s.ctx, []string{receipt})
	require.Len(s, errs, 1)
	return errs[0]
}

// pass lets d go by.
func (s *suite) pass(d time.Duration) {
	if s.Advance != nil {
		s.Advance(d)
		return
	}
	time.Sleep(d + s.unit/10)
}

// poll starts a long poll and returns once it waits. Its answer comes over the channel.
func (s *suite) poll(ctx context.Context, q port.Queue, wait time.Duration) <-chan answer {
	s.Helper()
	before := 0
	if s.Advance != nil {
		before = s.Sleepers()
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := q.Receive(ctx, port.MaxBatch, wait, long)
		answers <- answer{got, err}
	}()
	if s.Advance == nil {
		time.Sleep(s.unit / 10)
		return answers
	}
	for deadline := time.Now().Add(10 * time.Second); s.Sleepers() <= before; time.Sleep(time.Millisecond) {
		require.False(s, time.Now().After(deadline), "the long poll does not wait")
	}
	return answers
}

// forgotten returns once no poll waits: a server learns a moment later that its caller has given up, and
// would give it what comes meanwhile.
func (s *suite) forgotten() {
	s.Helper()
	if s.Advance == nil {
		time.Sleep(s.unit / 10)
		return
	}
	for deadline := time.Now().Add(10 * time.Second); s.Sleepers() > 0; time.Sleep(time.Millisecond) {
		require.False(s, time.Now().After(deadline), "the server goes on waiting for a poll that was given up")
	}
}

type answer struct {
	deliveries []port.Delivery
	err        error
}

// answered awaits the poll's answer.
func (s *suite) answered(answers <-chan answer) answer {
	s.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(s.pollLimit()):
		s.Fatal("the long poll does not end")
		return answer{}
	}
}

// pollLimit bounds each wait for a long poll, so that a lost wake-up fails the case within seconds. Where the
// clock stands still only the goroutines need time.
func (s *suite) pollLimit() time.Duration {
	if s.Advance != nil {
		return 10 * time.Second
	}
	return 10*time.Second + 30*s.unit
}

// firstAnswered blocks until one of the polls has an answer, and returns the index of that poll.
func (s *suite) firstAnswered(polls ...<-chan answer) int {
	s.Helper()
	for deadline := time.Now().Add(s.pollLimit()); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if i := slices.IndexFunc(polls, func(p <-chan answer) bool { return len(p) > 0 }); i >= 0 {
			return i
		}
	}
	s.Fatalf("none of %d long polls ends", len(polls))
	return -1
}

// waiting checks that a poll has not ended.
func (s *suite) waiting(answers <-chan answer) {
	s.Helper()
	select {
	case a := <-answers:
		s.Fatalf("the long poll ended with %v, %v", a.deliveries, a.err)
	case <-time.After(5 * time.Millisecond):
	}
}

// value is a message that is not encoded yet.
type value struct{ n int }

func (v value) Encode() ([]byte, error) { return fmt.Appendf(nil, `{"n":%d}`, v.n), nil }

// stubborn is a value that cannot be encoded.
type stubborn struct{}

var errStubborn = errors.New("not to be encoded")

func (stubborn) Encode() ([]byte, error) { return nil, errStubborn }

func large(size int) port.Message { return text(strings.Repeat("x", size)) }
