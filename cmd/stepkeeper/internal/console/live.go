package console

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// livePrefix leads to the stream of a page: its path follows.
const livePrefix = "/live"

const (
	heartbeat    = 2 * time.Second
	writeTimeout = 10 * time.Second
	mostStreams  = 64
)

// kept is what the stream of an open page keeps: the orders that its reader sees, so that none moves under the mouse.
type kept struct {
	rows  []view.Summary
	begun bool
}

// live sends a page again whenever it changes, and a heartbeat, by which a reader sees that the connection is alive.
func (s *server) live(p pageFunc) http.HandlerFunc {
	slots := make(chan struct{}, mostStreams)
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		st := &stream{w: w, control: http.NewResponseController(w), boot: s.boot}
		k := &kept{}
		last, spoken := "", time.Time{}
		tick := time.NewTicker(s.Every)
		defer tick.Stop()
		for {
			c := s.read(r.Context(), r, p, k)
			body, err := s.fragment(c)
			if err != nil {
				s.Log.Error("a page of the console cannot be made", "path", r.URL.Path, "error", err)
				return
			}
			text := string(body)
			switch now := time.Now(); {
			case text != last:
				err = st.send("", text)
				last, spoken = text, now
			case now.Sub(spoken) >= heartbeat:
				err = st.send("beat", "")
				spoken = now
			}
			if err != nil {
				return // the reader is gone
			}
			select {
			case <-r.Context().Done():
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
}

// send writes one event. Its ID names the process too: after a restart the numbers begin again.
func (s *stream) send(event, data string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	s.count++
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s-%d\n", s.boot, s.count)
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
