package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/journal"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const mostLetters = 20

// lettersLooked holds the messages from the last read of a queue. An open page shows these messages without a
// new read, because each read hides the messages from other consumers.
type lettersLooked struct {
	At      time.Time
	Letters []client.DeadLetter
}

func (s *server) deadLetters(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	queues, at, err := s.deadQueues.get(s.Now(), func() ([]client.DeadLetterQueue, time.Duration, error) {
		all, err := s.Client.DeadLetterQueues(ctx)
		return all, looksEvery, err
	})
	return content{Title: "Dead letters", Template: "dead-letters", Data: struct {
		At     time.Time
		Queues []client.DeadLetterQueue
	}{at, queues}}, err
}

// deadQueue shows the messages of a queue. A new page reads the queue. If the address names a message from
// the last read, the new page shows the last read instead. An update of an open page also shows the last
// read.
func (s *server) deadQueue(ctx context.Context, r *http.Request, k *kept) (content, error) {
	queue := r.PathValue("queue")
	body := r.URL.Query().Get("body")
	shows := func(l client.DeadLetter) bool { return l.ID == body }
	looked, known := s.letters.Get(queue)
	if !known || k == nil && !slices.ContainsFunc(looked.Letters, shows) {
		all, err := s.Client.DeadLetters(ctx, queue, mostLetters)
		if errors.Is(err, client.ErrNotFound) {
			return refusal("Not found", http.StatusNotFound, "There is no such queue: "+err.Error(),
				"Choose one of the list."), nil
		}
		if err != nil {
			return content{}, err
		}
		looked = lettersLooked{s.Now(), all}
		s.letters.Add(queue, looked)
	}
	became, _ := s.outcomes.Get(r.URL.Query().Get("done"))
	title := "Dead letters of " + queue
	switch queue {
	case port.Quarantine:
		title = "Quarantine"
	case client.MissedSweeps:
		title = "Missed sweeps"
	}
	return content{Title: title, Template: "dead-queue", Data: struct {
		lettersLooked
		Title, Queue, Body, File string
		Most                     int
		Outcome                  *outcome
	}{looked, title, queue, body, filepath.Join(s.Folder, journal.Name), mostLetters, became}}, nil
}

// body returns the body of a message as text. It redacts fields at any depth, because the order is nested in
// the message. It also hides the tokens of a request.
func (s *server) body(l client.DeadLetter) string {
	doc := core.RedactJSON(l.Body)
	var b bytes.Buffer
	if err := json.Indent(&b, s.Redact.anywhere().Apply(doc), "", "  "); err != nil {
		return render.CleanLines(string(doc))
	}
	return b.String()
}

func (r Redaction) anywhere() Redaction {
	var all Redaction
	for _, pattern := range r {
		all = append(all, append([]string{"**"}, pattern...))
	}
	return all
}

// handleDead redrives or discards the chosen messages. It redirects to a page that shows the results.
func (s *server) handleDead(w http.ResponseWriter, r *http.Request) {
	queue := r.PathValue("queue")
	do := s.Client.Redrive
	switch action := r.PostFormValue("action"); {
	case len(r.PostForm["id"]) == 0:
		s.refuse(w, r, http.StatusBadRequest, "No message was chosen, so nothing was done.",
			"Go back, and choose messages.")
		return
	case action == "discard":
		do = s.Client.Discard
	case action != "redrive":
		s.refuse(w, r, http.StatusBadRequest, "The form does not say what to do.",
			"Go back, and send it again.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	h := client.Handling{
		Queue: queue, IDs: r.PostForm["id"], By: strings.TrimSpace(r.PostFormValue("by")),
		Reason: strings.TrimSpace(r.PostFormValue("reason")),
	}
	key := rand.Text()
	became := s.handled(ctx, do, h)
	s.outcomes.Add(key, &became)
	s.deadQueues.drop()
	http.Redirect(w, r, "/dead-letters/"+url.PathEscape(queue)+"?"+url.Values{"done": {key}}.Encode(),
		http.StatusSeeOther)
}

func (s *server) handled(ctx context.Context, do func(context.Context, client.Handling) error,
	h client.Handling,
) outcome {
	file := filepath.Join(s.Folder, journal.Name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return outcome{Text: "Nothing was done, because it cannot be recorded: " + err.Error()}
	}
	j, err := journal.Open(file)
	if err != nil {
		return outcome{Text: "Nothing was done, because it cannot be recorded: " + err.Error()}
	}
	all := outcome{Accepted: true}
	var texts []string
	h.Record = func(x client.Handled) error {
		if x.Result != client.Begun {
			s.Log.Info("message handled by the console", "action", x.Action, "queue", x.Queue, "messageId",
				x.ID, "order", x.OrderID, "result", x.Result)
			text := fmt.Sprintf("%s: %s", x.ID, x.Result)
			if x.Text != "" {
				text += ", " + x.Text
			}
			texts = append(texts, text)
			all.Accepted = all.Accepted && (x.Result == client.Redriven || x.Result == client.Discarded)
		}
		return j.Record(x)
	}
	if err := errors.Join(do(ctx, h), j.Close()); err != nil {
		all.Accepted = false
		texts = append(texts, err.Error())
	}
	all.Text = strings.Join(texts, "; ")
	return all
}
