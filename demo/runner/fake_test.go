package runner_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fake is an engine small enough to be seen through, that stands in for `stepkeeper dev`: the test
// binary runs itself as it. It keeps its orders in a file, does one step after the other, and can
// be made to be wrong in ways that the demo must find. Its faults come by the environment.
type fake struct {
	mu       sync.Mutex
	orders   map[string]*fakeOrder
	file     *os.File
	services map[string]string // name → URL
	fault    string
}

type fakeOrder struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`
	State   string          `json:"state"`
	Reason  string          `json:"reason"`
}

// fakeQuiet is how long a call that was under way at a kill may take to land. The calls are those of a
// process that is gone, and services of the grade plain cannot answer what is under way: only time helps.
const fakeQuiet = 300 * time.Millisecond

// askAgain is the pace of the engine's retries. It is not known when a service is well again, but the
// answer to the next call.
const askAgain = 20 * time.Millisecond

const faultVariable = "STEPKEEPER_TEST_FAULT"

func runFake(args []string) {
	flags := map[string]string{}
	for i := 1; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	f := &fake{
		orders: map[string]*fakeOrder{}, services: map[string]string{},
		fault: os.Getenv(faultVariable),
	}
	f.readAgents(flags["--agents"])
	f.load(flags["--data"])
	listener, err := net.Listen("tcp", flags["--listen"])
	check(err)
	fmt.Printf("fake ready on http://%s\n", listener.Addr())
	for _, o := range f.orders {
		go func() {
			time.Sleep(fakeQuiet)
			switch o.State {
			case "Processing":
				f.work(o)
			case "Compensating":
				f.undo(o)
			}
		}()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/orders", f.submit)
	mux.HandleFunc("GET /v1/orders", f.list)
	check(http.Serve(listener, mux))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (f *fake) readAgents(path string) {
	text, err := os.ReadFile(path)
	check(err)
	for _, m := range regexp.MustCompile(`(?m)^  (\w+):\n    url: "(.*)"$`).FindAllStringSubmatch(
		string(text), -1) {
		f.services[m[1]] = m[2]
	}
}

func (f *fake) load(dir string) {
	check(os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "orders.jsonl")
	text, _ := os.ReadFile(path)
	for part := range bytes.SplitSeq(text, []byte("\n")) {
		var o fakeOrder
		if json.Unmarshal(part, &o) == nil && f.fault != "forgetful" {
			f.orders[o.ID] = &o
		}
	}
	var err error
	f.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(err)
}

// save appends the order as it is now. Killed processes lose nothing that was written.
func (f *fake) save(o *fakeOrder, state, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.State = state
	o.Reason = reason
	text, err := json.Marshal(o)
	check(err)
	_, err = f.file.Write(append(text, '\n'))
	check(err)
}

func (f *fake) submit(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	check(rc.EnableFullDuplex())
	check(rc.Flush())
	in := bufio.NewScanner(r.Body)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		var s struct {
			OrderID  string          `json:"orderId"`
			Workflow string          `json:"workflow"`
			Order    json.RawMessage `json:"order"`
		}
		answer := map[string]any{"line": n}
		if json.Unmarshal(in.Bytes(), &s) != nil || s.OrderID == "" || s.Workflow != "order" {
			answer["error"] = map[string]any{"code": "invalid"}
		} else {
			code := f.accept(s.OrderID, s.Order)
			answer["orderId"] = s.OrderID
			answer["accepted"] = code == ""
			if code != "" {
				answer["error"] = map[string]any{"code": code}
			}
		}
		text, err := json.Marshal(answer)
		check(err)
		_, _ = w.Write(append(text, '\n'))
		_ = rc.Flush()
	}
}

func (f *fake) accept(id string, content json.RawMessage) (code string) {
	f.mu.Lock()
	old := f.orders[id]
	o := &fakeOrder{ID: id, Content: content}
	if old == nil {
		f.orders[id] = o
	}
	f.mu.Unlock()
	switch {
	case old == nil:
		f.save(o, "Processing", "")
		if f.fault != "idle" {
			go f.work(o)
		}
	case !bytes.Equal(old.Content, content):
		return "other-content"
	}
	return ""
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []map[string]any{}
	for _, o := range f.orders {
		all = append(all, map[string]any{
			"orderId": o.ID, "state": o.State,
			"ended": !strings.HasSuffix(o.State, "ing"), "created": "2026-01-01T00:00:00Z",
			"error": map[string]any{"code": o.Reason, "message": o.Reason},
		})
	}
	w.Header().Set("Content-Type", "application/json")
	check(json.NewEncoder(w).Encode(map[string]any{"orders": all}))
}

// work does an order's steps; a refused one makes it undo all.
func (f *fake) work(o *fakeOrder) {
	var c struct {
		Currency string
		Items    []struct {
			Quantity, UnitPrice float64
			Physical            bool
		}
		Payment struct{ Card string }
		ShipTo  json.RawMessage
	}
	check(json.Unmarshal(o.Content, &c))
	amount := 0.0
	physical := false
	for _, i := range c.Items {
		amount += i.Quantity * i.UnitPrice
		physical = physical || i.Physical
	}
	if f.fault == "off-by-one" {
		amount++
	}
	steps := [][2]string{
		{"inventory", "reserve"},
		{"payment", "charge"},
		{"shipping", "book"},
		{"notification", "confirm"},
	}
	inputs := []string{string(o.Content), fmt.Sprintf(`{"card":%q,"amount":%.0f,"currency":%q}`,
		c.Payment.Card, amount, c.Currency), string(o.Content), "{}"}
	for i, s := range steps {
		if s[1] == "book" && !physical && f.fault != "ships-all" {
			continue
		}
		input := inputs[i]
		if s[1] == "book" && !physical {
			input = `{"shipTo":{"country":"DE"}}`
		}
		if reason := f.insist(s[0], s[1], o.ID+"/0/"+s[1], input); reason != "" {
			f.save(o, "Compensating", reason)
			f.undo(o)
			return
		}
	}
	f.save(o, "Processed", "")
}

// undo reverses all that an order can have had before it was confirmed; what was never done is no
// trouble, but for a booking, and nothing that comes after one is ever refused.
func (f *fake) undo(o *fakeOrder) {
	if f.fault != "keeps-money" {
		f.insist("payment", "refund", o.ID+"/0/charge", "{}")
	}
	f.insist("inventory", "release", o.ID+"/0/reserve", "{}")
	f.save(o, "Compensated", o.Reason)
}

// insist calls until it is answered; "" or the reason of a refusal.
func (f *fake) insist(service, operation, key, input string) string {
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for n := 0; ; n++ {
		k := key
		if f.fault == "new-keys" && n > 0 && operation == "charge" {
			k = strings.Replace(key, "/0/", "/"+strconv.Itoa(n)+"/", 1)
		}
		if service == "shipping" &&
			happened(client, f.services[service]+"/"+operation+"?key="+url.QueryEscape(key)) {
			return ""
		}
		req, err := http.NewRequest(http.MethodPost, f.services[service]+"/"+operation,
			strings.NewReader(input))
		check(err)
		req.GetBody = nil
		req.Header.Set("Idempotency-Key", k)
		res, err := client.Do(req)
		if err == nil {
			var a struct{ Error struct{ Code string } }
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			_ = json.Unmarshal(text, &a)
			if res.StatusCode == 200 {
				return ""
			} else if res.StatusCode == 422 || res.StatusCode == 409 {
				return a.Error.Code
			}
		}
		time.Sleep(askAgain)
	}
}

// happened asks until it knows.
func happened(client *http.Client, address string) bool {
	for {
		res, err := client.Get(address)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == 200 || res.StatusCode == 404 {
				return res.StatusCode == 200
			}
		}
		time.Sleep(askAgain)
	}
}
