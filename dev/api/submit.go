package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// MaxWait is the longest time that a request may wait for the end of an order.
const MaxWait = time.Minute

// Receipt acknowledges that an order is stored and started.
type Receipt struct {
	OrderID string     `json:"orderId"`
	Known   bool       `json:"known" doc:"the same order existed already; nothing was started twice"`
	State   core.State `json:"state"`
	Notes   []string   `json:"notes,omitempty" nullable:"false" doc:"parts of the order that have no effect here, for people"`
	// Unattended lists the request queues of the order's workflow that have no consumer.
	Unattended []view.Unattended `json:"unattended,omitempty" nullable:"false" doc:"request queues of its workflow that have no consumer"`
}

func (e *edge) submit(w http.ResponseWriter, r *http.Request) {
	wait, err := waitOf(r)
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	switch mediaType(r.Header.Get("Content-Type")) {
	case jsonType:
		e.submitOne(w, r, wait)
	case linesType, "application/jsonl", "application/x-jsonlines", "application/jsonlines":
		e.submitStream(w, r)
	default:
		writeProblem(w, problem(http.StatusUnsupportedMediaType, CodeMediaType,
			"Content-Type %.80q is not read here; send one order as %s, or a stream of lines as %s",
			r.Header.Get("Content-Type"), jsonType, linesType))
	}
}

func mediaType(header string) string {
	t, params, err := mime.ParseMediaType(header)
	if c, ok := params["charset"]; err != nil || ok && !strings.EqualFold(c, "utf-8") {
		return ""
	}
	return t
}

func waitOf(r *http.Request) (time.Duration, error) {
	if r.URL.RawQuery == "" {
		return 0, nil
	}
	for name := range r.URL.Query() {
		if name != "wait" {
			return 0, problem(http.StatusBadRequest, CodeInvalid,
				"query.%.40s is not known; there is only wait", name)
		}
	}
	return parseWait(r.URL.Query().Get("wait"))
}

func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, ok := core.ParseDuration(text)
	if !ok || d > core.DurationOf(MaxWait) {
		return 0, problem(http.StatusBadRequest, CodeInvalid,
			"query.wait is %.40q; give a duration from 0s to %s, like 30s, and ask again if it takes longer",
			text, MaxWait)
	}
	return d.Std(), nil
}

func (e *edge) submitOne(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	body, err := readBody(w, r, message.MaxSubmission)
	var order message.SubmitOrder
	if err == nil {
		order, err = message.DecodeSubmit(body)
	}
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	result := e.backend.Submit(r.Context(), []message.SubmitOrder{order})[0]
	if result.Err != nil {
		writeProblem(w, problemOf(result.Err))
		return
	}
	if wait > 0 {
		t, err := e.waited(r.Context(), order.OrderID, wait)
		// if the order has not ended in time, the response is still 202, because the order is stored
		if err == nil && t.Ended {
			writeJSON(w, http.StatusOK, t)
			return
		}
	}
	w.Header().Set("Location", "/v1/orders/"+order.OrderID)
	writeJSON(w, http.StatusAccepted, Receipt{
		result.OrderID, result.Known, result.State, result.Notes,
		result.Unattended,
	})
}

// waited blocks until the order ends or the time is over. It returns the task from Wait, and does not read
// the task again.
func (e *edge) waited(ctx context.Context, id string, wait time.Duration) (view.Task, error) {
	drained, end, err := e.waits.begin(ctx)
	if err != nil {
		return view.Task{}, err
	}
	defer end()
	within, stop := context.WithTimeout(drained, wait)
	defer stop()
	t, err := e.backend.Wait(within, id, view.Ended)
	if err != nil && (t == nil || within.Err() == nil) {
		return view.Task{}, err
	}
	// Without a definition, the order has not come, only its Cancel (P17, a cancel is kept).
	if t.Definition == "" || t.Damaged != "" {
		return view.Of(t, nil), nil
	}
	pinned, err := e.backend.Target(ctx, t.Workflow, t.Definition)
	if err == nil && pinned.Definition == nil {
		err = fmt.Errorf("%w: %s", core.ErrUnfit, pinned.Absent)
	}
	if err != nil {
		return view.Task{}, err
	}
	return view.Of(t, pinned.Definition), nil
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, err error) {
	var over *http.MaxBytesError
	err = &http.MaxBytesError{Limit: limit}
	if r.ContentLength <= limit { // memory is taken for bytes that have come, not for those that are announced
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	switch {
	case errors.As(err, &over):
		return nil, problem(http.StatusRequestEntityTooLarge, message.CodeTooLarge,
			"the body has more than %d bytes, and an order may have %d; store large data elsewhere and send a "+
				"reference", limit, port.MaxOrder)
	case err != nil:
		return nil, problem(http.StatusBadRequest, CodeInvalid, "the body broke off (%v); send it again", err)
	}
	return body, nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := rawjson.Marshal(v)
	if err != nil {
		writeProblem(w, internalProblem(err))
		return
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	_, _ = w.Write(b) // a failure means that the client has disconnected
}
