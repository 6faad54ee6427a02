package console

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

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

// live sends a page whenever the page changes. It also sends heartbeats, which show that the connection
// works.
func (s *server) live(p pageFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		over := s.streams.begin(host)
		defer s.streams.end(host, over)
		w.Header().Set("Content-Type", "text/event-stream")
		st := &stream{w: w, control: http.NewResponseController(w), boot: s.boot}
		k := &kept{}
		last := ""
		spoken := time.Time{}
		tick := time.NewTicker(s.Every)
		for {
			c := s.read(r.Context(), r, p, k)
			body, err := s.fragment(c)
			if err != nil {
				s.Log.Error("a page of the console cannot be shown", "path", r.URL.Path, "error", err)
				return
			}
			text := string(body)
			switch now := time.Now(); {
			case text != last:
				err = st.send("", text)
				last = text
				spoken = now
			case now.Sub(spoken) >= heartbeat:
				err = st.beat()
				spoken = now
			}
			if err != nil {
				return // The browser has closed the connection.
			}
			select {
			case <-r.Context().Done():
				return
			case <-over:
				st.retry = reopenAfter
				if err := st.beat(); err != nil {
					s.Log.Debug("the reader of a page is gone", "error", err)
				}
				return
			case <-tick.C:
			}
		}
	}
}

type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	boot    string
	count   int
	retry   time.Duration
}

func (s *stream) beat() error { return s.send("beat", "") }

// send writes one event. The ID of the event contains the name of the process, because the numbers start
// again after a restart.
func (s *stream) send(event, data string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	s.count++
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s-%d\n", s.boot, s.count)
	if s.retry > 0 {
		fmt.Fprintf(&b, "retry: %d\n", s.retry.Milliseconds())
	}
	if event != "" {
		fmt.Fprintf(&b, "event: %s\n", event)
	}
	for line := range strings.SplitSeq(data, "\n") {
		fmt.Fprintf(&b, "data: %s\n", strings.TrimSuffix(line, "\r"))
	}
	b.WriteString("\n")
	if _, err := s.w.Write([]byte(b.String())); err != nil {
		return err
	}
	return s.control.Flush()
}
