package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	callPatience = 10 * time.Second
	pageSize     = 1000
)

// engine is Stepkeeper as an application sees it: its HTTP API.
type engine struct {
	base func() string // the address changes with each restart
	http *http.Client
}

// lineAnswer is what the API says of one line of a stream.
type lineAnswer struct {
	Line     int    `json:"line"`
	OrderID  string `json:"orderId"`
	Accepted bool   `json:"accepted"`
	Error    *struct {
		Code       string `json:"code"`
		Detail     string `json:"detail"`
		RetryAfter int    `json:"retryAfter"`
	} `json:"error"`
}

// stream submits JSON Lines and hands on each answer. It ends with the answers, or with an error
// when the connection breaks: what was not answered may be stored or not.
func (e *engine) stream(ctx context.Context, body io.Reader, each func(lineAnswer)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base()+"/v1/orders", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return refusedCall(res)
	}
	answers := json.NewDecoder(res.Body)
	for {
		var a lineAnswer
		switch err := answers.Decode(&a); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("answers of the stream: %w", err)
		}
		each(a)
	}
}

// list answers all orders.
func (e *engine) list(ctx context.Context) ([]view.Summary, error) {
	var all []view.Summary
	for cursor := ""; ; {
		var page view.Page
		query := url.Values{"limit": {fmt.Sprint(pageSize)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if _, err := e.call(ctx, http.MethodGet, "/v1/orders?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Orders...)
		if cursor = page.Next; cursor == "" {
			return all, nil
		}
	}
}

// task answers one order's task; false if the engine does not know it.
func (e *engine) task(ctx context.Context, id string) (view.Task, bool, error) {
	var t view.Task
	status, err := e.call(ctx, http.MethodGet, "/v1/orders/"+url.PathEscape(id), nil, &t)
	if status == http.StatusNotFound {
		return t, false, nil
	}
	return t, err == nil, err
}

// command sends an operator's command; false if it was refused, which is no error: somebody, or
// some clock, was first.
func (e *engine) command(ctx context.Context, id, name string, body map[string]any) (bool, error) {
	status, err := e.call(ctx, http.MethodPost, "/v1/orders/"+url.PathEscape(id)+"/"+name, body, nil)
	if status == http.StatusConflict {
		return false, nil
	}
	return err == nil, err
}

// call sends and reads JSON. The status is 0 where there was no answer.
func (e *engine) call(ctx context.Context, method, path string, in, out any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, e.base()+path, body)
	if err != nil {
		return 0, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := e.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		return res.StatusCode, refusedCall(res)
	}
	if out == nil {
		return res.StatusCode, nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return res.StatusCode, nil
}

func refusedCall(res *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, 2000)) // what came of it is good enough for an error
	return fmt.Errorf("%s %s: %s: %s", res.Request.Method, res.Request.URL.Path, res.Status, text)
}
