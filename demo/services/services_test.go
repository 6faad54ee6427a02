package services_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
)

const key = "order-1/0/step"

var inputs = map[string]string{
	"reserve": `{"items":[{"sku":"MUG-01","quantity":2},{"sku":"LTD-01","quantity":1}]}`,
	"charge":  `{"card":"tok_visa_1","amount":1999,"currency":"EUR"}`,
	"book":    `{"shipTo":{"country":"DE"}}`,
	"confirm": `{"email":"a@example.com"}`,
}

var homes = map[string]string{
	"reserve": services.Inventory, "release": services.Inventory,
	"charge": services.Payment, "refund": services.Payment,
	"book": services.Shipping, "cancel": services.Shipping,
	"confirm": services.Notification,
}

// start starts services with these faults, each of them of the same rate.
func start(t *testing.T, rates services.Rates) *services.Fleet {
	t.Helper()
	o := services.Options{
		Dir: t.TempDir(), Seed: 3, Rates: map[string]services.Rates{},
		SlowFor: 20 * time.Millisecond, HangFor: 50 * time.Millisecond,
	}
	for _, name := range services.Names() {
		o.Rates[name] = rates
	}
	f, err := services.Start(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// post returns the status 0 if the connection broke.
func post(t *testing.T, f *services.Fleet, operation, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		f.URL()+"/"+homes[operation]+"/"+operation, strings.NewReader(body))
	require.NoError(t, err)
	req.GetBody = nil // or the transport itself would repeat a call whose connection was cut
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return send(t, req)
}

func check(t *testing.T, f *services.Fleet, operation, key string) (int, string) {
	t.Helper()
	address := f.URL() + "/" + homes[operation] + "/" + operation + "?key=" + url.QueryEscape(key)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	return send(t, req)
}

func send(t *testing.T, req *http.Request) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		var broken *url.Error
		require.ErrorAs(t, err, &broken)
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, string(body)
	}
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

// ledger returns the kinds of the rows of a key, in order.
func ledger(t *testing.T, f *services.Fleet, service, key string) string {
	t.Helper()
	text, err := os.ReadFile(f.Ledger(service))
	require.NoError(t, err)
	var kinds []string
	for line := range strings.Lines(string(text)) {
		var row struct{ Kind, Key string }
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		if row.Key == key {
			kinds = append(kinds, row.Kind)
		}
	}
	return strings.Join(kinds, " ")
}

// TestGrades is the contract of docs/explanation/protocol.md, Grades, for each grade.
func TestGrades(t *testing.T) {
	cases := []struct {
		name   string
		calls  string // operation=expected status, "?operation" checks
		ledger string
	}{
		{"fenced: done once, repeats answer the same", "reserve=200 reserve=200 ?reserve=200", "do"},
		{"fenced: reversed", "reserve=200 release=200 ?reserve=404 ?release=200", "do undo"},
		{"fenced: reversed once", "reserve=200 release=200 release=200", "do undo"},
		{
			"fenced: undo of nothing, and no do after it",
			"release=200 release=200 reserve=409 ?reserve=404 ?release=200", "fence",
		},
		{"fenced: no do after its undo", "reserve=200 release=200 reserve=409", "do undo"},
		{"idempotent: done once", "charge=200 charge=200 ?charge=200", "do"},
		{"idempotent: undo of nothing leaves no trace", "refund=200 ?refund=404 charge=200", "do"},
		{"idempotent: reversed once", "charge=200 refund=200 refund=200 ?charge=404 ?refund=200", "do undo"},
		{"idempotent: never done again", "charge=200 refund=200 charge=200", "do undo"},
		{"idempotent without undo", "confirm=200 confirm=200 ?confirm=200", "do"},
		{"plain: each call books", "book=200 book=200 ?book=200", "do do"},
		{
			"plain: cancels one at a time",
			"book=200 book=200 cancel=200 ?book=200 cancel=200 ?book=404 cancel=409", "do do undo undo",
		},
		{"plain: booked again", "book=200 cancel=200 ?cancel=200 book=200 ?cancel=404", "do undo do"},
		{"plain: nothing to cancel", "cancel=409 ?cancel=404", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, nil)
			outputs := map[string]string{}
			service := ""
			for _, step := range strings.Fields(c.calls) {
				call, want, _ := strings.Cut(step, "=")
				operation, asked := strings.CutPrefix(call, "?")
				service = homes[operation]
				var status int
				var body string
				if asked {
					status, body = check(t, f, operation, key)
				} else {
					status, body = post(t, f, operation, key, inputs[operation])
				}
				require.Equal(t, want, fmt.Sprint(status))
				if first, seen := outputs[operation]; status == 200 && seen && first != body {
					t.Errorf("%s answered %s, before that %s", call, body, first)
				}
				if status == 200 {
					outputs[operation] = body
				}
			}
			require.Equal(t, c.ledger, ledger(t, f, service, key))
		})
	}
}

func TestRefusalsLeaveNoTrace(t *testing.T) {
	cases := []struct {
		operation, body, code string
	}{
		{
			"reserve", `{"items":[{"sku":"MUG-01","quantity":1},{"sku":"SOLDOUT-9","quantity":1}]}`,
			"out-of-stock",
		},
		{
			"reserve", `{"items":[{"sku":"LTD-01","quantity":20},{"sku":"LTD-01","quantity":6}]}`,
			"out-of-stock",
		},
		{"reserve", `{"items":[]}`, "bad-input"},
		{"reserve", `{"items":[{"sku":"MUG-01","quantity":-1}]}`, "bad-input"},
		{"charge", `{"card":"tok_declined_7","amount":1,"currency":"EUR"}`, "card-declined"},
		{"charge", `{"card":"tok_expired","amount":1,"currency":"EUR"}`, "card-expired"},
		{"charge", `{"card":"tok_empty","amount":1,"currency":"EUR"}`, "insufficient-funds"},
		{"charge", `{"card":"tok_1","amount":1.5,"currency":"EUR"}`, "bad-input"},
		{"charge", `{"card":"tok_1","amount":0,"currency":"EUR"}`, "bad-input"},
		{"charge", `{"card":"tok_1","amount":1,"currency":"euro"}`, "bad-input"},
		{"book", `{"shipTo":{"country":"AQ"}}`, "country-not-served"},
		{"book", `{}`, "bad-input"},
	}
	for _, c := range cases {
		t.Run(c.operation+" "+c.code, func(t *testing.T) {
			f := start(t, nil)
			status, body := post(t, f, c.operation, key, c.body)
			var answer struct {
				Error struct{ Code string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &answer))
			require.Equal(t, 422, status, c.code)
			require.Equal(t, c.code, answer.Error.Code)
			require.Empty(t, ledger(t, f, homes[c.operation], key))
			// A refusal without effect is not remembered.
			status, _ = post(t, f, c.operation, key, inputs[c.operation])
			require.Equal(t, 200, status)
		})
	}
}

// TestStockIsCounted: released pieces are there for the next order.
func TestStockIsCounted(t *testing.T) {
	f := start(t, nil)
	all := fmt.Sprintf(`{"items":[{"sku":"LTD-02","quantity":%d}]}`, services.LimitedPieces)
	for _, step := range []struct {
		operation, key string
		want           int
	}{
		{"reserve", "a/0/s", 200},
		{"reserve", "b/0/s", 422},
		{"release", "a/0/s", 200},
		{"reserve", "b/0/s", 200},
		{"reserve", "c/0/s", 422},
	} {
		status, _ := post(t, f, step.operation, step.key, all)
		require.Equal(t, step.want, status, step.operation)
	}
}

func TestBadCalls(t *testing.T) {
	f := start(t, nil)
	cases := []struct {
		name, operation, key, body string
		want                       int
	}{
		{"no key", "charge", "", inputs["charge"], 400},
		{"long key", "charge", strings.Repeat("k", 301), inputs["charge"], 400},
		{"body over the limit", "charge", key, strings.Repeat(" ", 65<<10), 400},
		{"not JSON", "charge", key, "{", 422},
	}
	for _, c := range cases {
		status, _ := post(t, f, c.operation, c.key, c.body)
		require.Equal(t, c.want, status, c.name)
	}
	for _, path := range []string{"/", "/payment/", "/payment/reserve", "/payment/charge/x"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL()+path,
			strings.NewReader("{}"))
		require.NoError(t, err)
		status, _ := send(t, req)
		require.Equal(t, 404, status, path)
	}
}

func TestFaults(t *testing.T) {
	for fault, want := range map[services.Fault]struct {
		statuses string // allowed answers; 0: the connection broke
		ledger   string // allowed ledgers, separated by |
	}{
		services.Before:  {"500 503", ""},
		services.Reset:   {"0", ""},
		services.After:   {"500", "do"},
		services.TooMany: {"429", ""},
		services.Hang:    {"0", "|do"},
		services.Cut:     {"0", "do"},
		services.Torn:    {"0", "do"},
		services.Twice:   {"200", "do"},
		services.Again:   {"200", "do"},
		services.Late:    {"0", "do"},
		services.Lie:     {"200", ""},
		services.Slow:    {"200", "do"},
	} {
		t.Run(string(fault), func(t *testing.T) {
			f := start(t, services.Rates{fault: 1})
			for _, operation := range []string{"reserve", "charge", "confirm"} {
				status, body := post(t, f, operation, key, inputs[operation])
				require.Contains(t, want.statuses, fmt.Sprint(status), body)
				got := ledger(t, f, homes[operation], key)
				require.Contains(t, "|"+want.ledger+"|", "|"+got+"|", operation)
				require.Equal(t, 1, f.Counts(homes[operation]).Faults[fault])
			}
		})
	}
}

// A plain service shows that a copy of a call arrives, and that Drain waits for it.
func TestCopiesOfCalls(t *testing.T) {
	for _, fault := range []services.Fault{services.Twice, services.Again} {
		f := start(t, services.Rates{fault: 1})
		status, _ := post(t, f, "book", key, inputs["book"])
		require.Equal(t, 200, status)
		require.NoError(t, f.Drain(t.Context()))
		require.Equal(t, "do do", ledger(t, f, services.Shipping, key), fault)
	}
}

// TestOutage: nothing gets through, then everything does.
func TestOutage(t *testing.T) {
	f := start(t, nil)
	f.BeginOutage(services.Payment)
	for n := range 8 {
		k := fmt.Sprintf("order-%d/0/charge", n)
		if status, _ := post(t, f, "charge", k, inputs["charge"]); status != 0 && status != 503 {
			t.Errorf("charge answered %d during the outage", status)
		}
		if status, _ := check(t, f, "charge", k); status != 0 && status != 503 {
			t.Errorf("check answered %d during the outage", status)
		}
	}
	status, _ := post(t, f, "reserve", key, inputs["reserve"])
	require.Equal(t, 200, status)
	f.EndOutage(services.Payment)
	_, ok := f.Recovery(services.Payment)
	require.False(t, ok, "recovered before any call")
	status, _ = post(t, f, "charge", key, inputs["charge"])
	require.Equal(t, 200, status)
	d, ok := f.Recovery(services.Payment)
	require.True(t, ok, "recovery %v %v, want a positive time", d, ok)
	require.Greater(t, d, time.Duration(0))
	got := f.Counts(services.Payment)
	require.Equal(t, 16, got.Outage)
	require.Equal(t, 9, got.Calls)
}

// A second start in the same folder does not write over the ledgers.
func TestLedgersAreKept(t *testing.T) {
	f := start(t, nil)
	post(t, f, "charge", key, inputs["charge"])
	_, err := services.Start(t.Context(), services.Options{Dir: filepath.Dir(f.Ledger(services.Payment))})
	require.ErrorIs(t, err, fs.ErrExist)
	require.Equal(t, "do", ledger(t, f, services.Payment, key))
}

// The agents file names each service's address, its operations and what can be checked, and the external agents.
func TestAgentsFile(t *testing.T) {
	all, err := agentsfile.Read(services.AgentsFile("http://127.0.0.1:1", services.Notification))
	require.NoError(t, err)
	require.True(t, all.Agents[services.Notification].External)
	for name, checked := range map[string]bool{
		services.Inventory: true, services.Payment: true, services.Shipping: false,
	} {
		a := all.Agents[name]
		address, err := a.URL.MarshalText()
		require.NoError(t, err)
		require.Equal(t, "http://127.0.0.1:1/"+name, string(address))
		require.Len(t, a.Operations, 2, name)
		for operation, o := range a.Operations {
			require.Equal(t, name, homes[operation])
			require.Equal(t, checked, o.Check != nil, operation)
		}
	}
}
