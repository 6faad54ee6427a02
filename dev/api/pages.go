package api

import "net/http"

// Pages makes a handler of pages for people fit to be served by Serve: it lets only programs and pages of
// this machine in, as the interface itself does, and ends what is still being answered when the server
// drains.
func Pages(pages http.Handler) http.Handler { return guard(thisMachine(ownOrigin(drained(pages)))) }

func drained(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := untilDrain(r.Context())
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
