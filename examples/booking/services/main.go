// Command services stands in for two remote services while you try the workflow: seats and payments. An
// idempotency key acts only once. An undo succeeds even if nothing was done, and an undone key never acts
// again. A restart loses the books, which are in memory. A real service must keep them.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// service answers POST /<service>/<operation>.
type service struct {
	mu     sync.Mutex
	done   map[string]bool   // keys whose operation has its effect now
	undone map[string]bool   // keys that were undone: they never act again
	taken  map[string]string // seat to the key that holds it
}

type input struct {
	Seat   string
	Card   string
	Amount int64
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	var in input
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in); err != nil || key == "" {
		refuse(w, http.StatusBadRequest, "bad-request")
		return
	}
	operation := r.PathValue("operation")
	s.mu.Lock()
	status, code := s.act(operation, key, in)
	s.mu.Unlock()
	log.Printf("%s %s: %d", r.URL.Path, key, status)
	if code != "" {
		refuse(w, status, code)
		return
	}
	answer(w, status, map[string]string{operation + "Id": key})
}

// act does an operation or undoes one. A 4xx means that nothing was done and that no repetition helps.
func (s *service) act(operation, key string, in input) (status int, code string) {
	switch operation {
	case "release", "refund":
		if s.taken[in.Seat] == key {
			delete(s.taken, in.Seat)
		}
		delete(s.done, key)
		s.undone[key] = true
	case "reserve":
		holder := s.taken[in.Seat]
		switch {
		case s.undone[key]:
			return http.StatusConflict, "released-before" // the fence
		case holder != "" && holder != key:
			return http.StatusConflict, "seat-taken"
		}
		s.taken[in.Seat], s.done[key] = key, true
	case "charge":
		if strings.Contains(in.Card, "declined") {
			return http.StatusUnprocessableEntity, "card-declined"
		}
		s.done[key] = !s.undone[key]
	default:
		return http.StatusNotFound, "no-such-operation"
	}
	return http.StatusOK, ""
}

func refuse(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": "it was refused"}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9100", "address, as in agents.yaml")
	flag.Parse()
	mux := http.NewServeMux()
	for _, name := range []string{"seats", "payments"} {
		mux.Handle("POST /"+name+"/{operation}", &service{done: map[string]bool{}, undone: map[string]bool{},
			taken: map[string]string{}})
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("seats and payments are served on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.Serve(listener))
}
