package api

import "net/http"

// Pages wraps a handler of pages for people so that Serve can serve it. It accepts only programs and pages of
// this machine, as the HTTP API does, and ends open responses when the server drains.
func Pages(pages http.Handler) http.Handler { return guard(thisMachine(ownOrigin(drained(pages)))) }

func drained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := untilDrain(r.Context())
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
