package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// eventPause is the time between two heartbeats of a stream, with or without events between them.
const eventPause = 15 * time.Second

type eventsInput struct {
	OrderPath
	After  int64 `query:"after" minimum:"0" doc:"only versions newer than this"`
	LastID int64 `header:"Last-Event-ID" minimum:"0" doc:"ID of the last event; an EventSource sends it when it connects again"`
}

// A stream of changes has at most one event in changePause, so that a page that reads with each event costs
// little while many orders run.
const changePause = time.Second

type changesInput struct {
	Order string `query:"order" pattern:"^[A-Za-z0-9._:~-]{0,128}$" doc:"only changes of the order with this ID, which may come later; if absent, changes of all orders"`
}

func (e *edge) registerEvents(doc huma.API) {
	huma.Register(doc, huma.Operation{
		OperationID: "follow-changes", Method: http.MethodGet, Path: "/v1/changes", Tags: []string{"orders"},
		Summary: "When to read a page again, as Server-Sent Events",
		Description: "Each event is named \"changed\" and has no data. The first comes at once, and one after " +
			"changes, at most one each second. While nothing changes, one comes each 15 seconds, because " +
			"some of what a page shows changes with the time.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of signals",
			Content:     map[string]*huma.MediaType{eventsType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
		Errors: []int{400, 403, 429},
	}, e.changes)
	huma.Register(doc, huma.Operation{
		OperationID: "follow-order", Method: http.MethodGet, Path: "/v1/orders/{id}/events",
		Tags:    []string{"orders"},
		Summary: "Follow an order: each new version of its task, as Server-Sent Events",
		Description: "Each event is named \"task\", has the version as its ID, and the task as JSON in " +
			"its data. " +
			"The present version comes first; versions that follow each other quickly may be left out, " +
			"the last one never. " +
			"The stream goes on after the end of the order, because a command may continue it.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of tasks",
			Content:     map[string]*huma.MediaType{eventsType: {Schema: schemaOf[view.Task](doc)}},
		}},
		Errors: []int{400, 403, 404, 429, 503},
	}, e.events)
}

// stream returns the response with a stream of events.
func (e *edge) stream(ctx context.Context,
	write func(context.Context, http.ResponseWriter),
) (*huma.StreamResponse, error) {
	ctx, end, err := e.eventStreams.begin(ctx)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer end()
		_, w := humago.Unwrap(hc)
		write(ctx, w)
	}}, nil
}

func (e *edge) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if _, _, err := e.backend.Task(ctx, in.ID); err != nil {
		return nil, ofOrder(in.ID, err)
	}
	return e.stream(ctx, func(ctx context.Context, w http.ResponseWriter) {
		e.writeEvents(ctx, w, in.ID, max(in.After, in.LastID))
	})
}

// beginEvents begins a stream of events. The returned function sends events, and reports whether the reader
// is still there.
func beginEvents(w http.ResponseWriter) (send func(b []byte) bool) {
	h := w.Header()
	h.Set("Content-Type", eventsType)
	h.Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	return func(b []byte) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(spoolTimeout))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
}

func (e *edge) changes(ctx context.Context, in *changesInput) (*huma.StreamResponse, error) {
	return e.stream(ctx, func(ctx context.Context, w http.ResponseWriter) {
		signals := e.backend.Changes(ctx, in.Order)
		send := beginEvents(w)
		for send([]byte("event: changed\ndata:\n\n")) {
			if port.Sleep(ctx, changePause) != nil {
				return
			}
			select {
			case <-signals:
			case <-time.After(eventPause - changePause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// writeEvents sends each version of a task that is newer than after. It ends if the task cannot be read. The client
// then connects again, and gets the error.
func (e *edge) writeEvents(ctx context.Context, w http.ResponseWriter, id string, after int64) {
	alive := time.NewTicker(eventPause)
	defer alive.Stop()
	changes := e.backend.Changes(ctx, id)
	send := beginEvents(w)
	for ok := send([]byte(": following\n\n")); ok; {
		t, def, err := e.backend.Task(ctx, id)
		if err != nil {
			return
		}
		if t.Version > after {
			b, err := event(t, def)
			if err != nil {
				panic(err) // breaks the connection, so that the client sees that the stream is incomplete
			}
			after = t.Version
			ok = send(b)
			continue
		}
		select {
		case <-changes:
		case <-alive.C:
			ok = send([]byte(": alive\n\n"))
		case <-ctx.Done():
			return
		}
	}
}

func event(t *protocol.Task, def *core.Definition) ([]byte, error) {
	v := view.Of(t, def)
	v.History = view.History(t, def)
	data, err := rawjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("task %q: %w", t.OrderID, err)
	}
	return fmt.Appendf(nil, "id: %d\nevent: task\ndata: %s\n\n", t.Version, data), nil
}
