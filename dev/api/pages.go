package api

import "net/http"

// Pages wraps a handler of web pages for Serve. Like New, it accepts requests only from this machine and from
// its own origin. It ends open responses when the server shuts down.
func Pages(pages http.Handler) http.Handler { return guard(thisMachine(ownOrigin(drained(pages)))) }

func drained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := untilDrain(r.Context())
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
