package console

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// livePrefix is the first part of the path of a stream. The path of the page follows.
const livePrefix = "/live"

const (
	heartbeat    = 2 * time.Second
	writeTimeout = 10 * time.Second
	// mostStreams is the maximum number of open streams for one host. Browsers open at most six HTTP/1.1
	// connections to a server, and pages and commands need some of these connections.
	mostStreams = 4
	// reopenAfter is how long a page waits before it reopens a stream that the server has ended.
	reopenAfter = 3 * time.Second
)

type streams struct {
	mu   sync.Mutex
	open map[string][]chan struct{}
}

// begin adds a stream and returns the stream's channel. If the host has too many streams, begin removes the
// oldest stream and closes the channel of the oldest stream.
func (s *streams) begin(host string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := make(chan struct{})
	s.open[host] = append(s.open[host], over)
	if of := s.open[host]; len(of) > mostStreams {
		close(of[0])
		s.open[host] = of[1:]
	}
	return over
}

func (s *streams) end(host string, over chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[host] = slices.DeleteFunc(s.open[host], func(c chan struct{}) bool { return c == over })
	if len(s.open[host]) == 0 {
		delete(s.open, host)
	}
}

// kept is the state of an open page's stream. It holds the visible orders, so that no row moves under the
// mouse.
type kept struct {
	rows  []view.Summary
	begun bool
	plan  *plan // plan of a bulk command; nil on other pages
}

// busyEvery is how often a page is read while the console itself works for it. Such a page reads little of the
// deployment.
const busyEvery = time.Second

// live sends a page whenever the page changes. It reads the page when the client reports a change. It also
// sends heartbeats, which show that the connection works.
func (s *server) live(p pageFunc, ofOrder bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		over := s.streams.begin(host)
		defer s.streams.end(host, over)
		w.Header().Set("Content-Type", "text/event-stream")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		order := ""
		if ofOrder {
			order = r.PathValue("id")
		}
		l := &livePage{server: s, page: p, writer: w, request: r, kept: &kept{}, busy: time.NewTimer(0)}
		l.busy.Stop()
		l.follow(ctx, s.changes(ctx, order), over)
	}
}

// changes returns a channel that gets a signal when a page should be read again.
func (s *server) changes(ctx context.Context, order string) <-chan struct{} {
	signals := make(chan struct{}, 1)
	go func() {
		err := port.Guard(s.Log, "following changes", func() error {
			for err := range s.Client.Changes(ctx, order) {
				if err != nil {
					s.Log.Debug("the stream of changes is lost; it is opened again", "error", err)
				}
				select {
				case signals <- struct{}{}:
				default: // the page has not been read since the last signal
				}
			}
			return nil
		})
		if err != nil {
			s.Log.Error("an open page no longer follows changes", "error", err)
		}
	}()
	return signals
}

type livePage struct {
	server  *server
	page    pageFunc
	writer  http.ResponseWriter
	request *http.Request
	kept    *kept
	count   int         // number of events that were sent
	last    string      // text that was sent last
	busy    *time.Timer // runs while the console itself works for the page
}

func (l *livePage) follow(ctx context.Context, changes, over <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	defer l.busy.Stop()
	for {
		sent := false
		var err error
		select {
		case <-ctx.Done():
			return
		case <-over:
			if err := l.send("beat", "", reopenAfter); err != nil {
				l.server.Log.Debug("the reader of a page is gone", "error", err)
			}
			return
		case <-beat.C:
			err = l.send("beat", "", 0)
		case <-changes:
			sent, err = l.refresh(ctx)
		case <-l.busy.C:
			sent, err = l.refresh(ctx)
		}
		if err != nil {
			return // the browser has closed the connection, or the page cannot be shown
		}
		if sent {
			beat.Reset(heartbeat)
		}
	}
}

// refresh reads the page, and sends it if it has changed.
func (l *livePage) refresh(ctx context.Context) (sent bool, err error) {
	c := l.server.read(ctx, l.request, l.page, l.kept)
	if c.Busy {
		l.busy.Reset(busyEvery)
	}
	body, err := l.server.fragment(c)
	if err != nil {
		l.server.Log.Error("a page of the console cannot be shown", "path", l.request.URL.Path, "error", err)
		return false, err
	}
	text := string(body)
	if text == l.last {
		return false, nil
	}
	l.last = text
	return true, l.send("", text, 0)
}

// send writes one event. The ID of the event contains the name of the process, because the numbers start
// again after a restart. A retry above 0 is how long the browser waits before it opens the stream again.
func (l *livePage) send(event, data string, retry time.Duration) error {
	control := http.NewResponseController(l.writer)
	if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	l.count++
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s-%d\n", l.server.boot, l.count)
	if retry > 0 {
		fmt.Fprintf(&b, "retry: %d\n", retry.Milliseconds())
	}
	if event != "" {
		fmt.Fprintf(&b, "event: %s\n", event)
	}
	for line := range strings.SplitSeq(data, "\n") {
		fmt.Fprintf(&b, "data: %s\n", strings.TrimSuffix(line, "\r"))
	}
	b.WriteString("\n")
	if _, err := l.writer.Write([]byte(b.String())); err != nil {
		return err
	}
	return control.Flush()
}
