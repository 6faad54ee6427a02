package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/api"
	"github.com/stepkeeper/stepkeeper/shared/api/apitest"
)

// BenchmarkSubmit is what the edge itself costs: one order, no socket, a backend in memory.
func BenchmarkSubmit(b *testing.B) {
	h := api.New(api.Config{Backend: apitest.New()})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		req := httptest.NewRequest("POST", "http://127.0.0.1/v1/orders", strings.NewReader(orderJSON(fmt.Sprint(i))))
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, req); w.Code != http.StatusAccepted {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkSubmitOverLoopback adds the sockets and a client on the same cores.
func BenchmarkSubmitOverLoopback(b *testing.B) {
	s := httptest.NewServer(api.New(api.Config{Backend: apitest.New()}))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var n atomic.Int64
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := client.Post(s.URL+"/v1/orders", "application/json", strings.NewReader(orderJSON(fmt.Sprint(n.Add(1)))))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// BenchmarkStream is one order of a stream of lines, over loopback.
func BenchmarkStream(b *testing.B) {
	s := httptest.NewServer(api.New(api.Config{Backend: apitest.New()}))
	defer s.Close()
	body, feed := io.Pipe()
	go func() {
		for i := range b.N {
			fmt.Fprintln(feed, orderJSON(fmt.Sprint(i)))
		}
		feed.Close()
	}()
	resp, err := http.Post(s.URL+"/v1/orders", "application/x-ndjson", body)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}
