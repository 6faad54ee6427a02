// Command services stands in for two remote services, seats and payments, while you try the workflow.
//
//   - An operation takes effect only once for each idempotency key.
//   - An undo succeeds even if its operation had no effect.
//   - After the undo, an operation with the same key has no effect.
//
// The services keep their data in memory and lose it at a restart. A real service must store its data.
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

// service handles POST /<service>/<operation>.
type service struct {
	mu     sync.Mutex
	done   map[string]bool   // keys whose operation took effect; an undo removes the key
	undone map[string]bool   // keys that an undo has blocked
	taken  map[string]string // key that holds the seat, by seat
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

// act runs an operation or an undo. A status 4xx means that the call had no effect and should not be
// repeated.
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
			return http.StatusConflict, "released-before" // the fence: a key that was undone never reserves
		case holder != "" && holder != key:
			return http.StatusConflict, "seat-taken"
		}
		s.taken[in.Seat] = key
		s.done[key] = true
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
		mux.Handle("POST /"+name+"/{operation}", &service{
			done: map[string]bool{}, undone: map[string]bool{},
			taken: map[string]string{},
		})
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("seats and payments are served on http://%s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.Serve(listener))
}
