package api

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config configures the HTTP interface of the embedded runtime.
type Config struct {
	Backend Backend
	Version string     // version of the program, for the OpenAPI document
	Clock   port.Clock // nil means the system clock
	// Pages serves the paths in PagePaths; nil means no pages.
	Pages     http.Handler
	PagePaths []string // patterns of http.ServeMux
	// Metrics serves GET /metrics; nil means no metrics.
	Metrics http.Handler
	// ReceiptKey signs the receipt handles of the SQS protocol. nil means a new random key.
	ReceiptKey []byte
}

type edge struct {
	backend Backend
	clock   port.Clock

	eventStreams, waits, polls, submissions held // requests that last
}

// New returns the handler of everything that the embedded runtime serves. All requests below
// answerpage.Prefix go to the answer page. Only these requests skip the check of the Origin header.
func New(c Config) http.Handler {
	answers := answerpage.New(c.Backend)
	rest := ownOrigin(routes(c))
	return guard(thisMachine(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// a path with this prefix cannot lead elsewhere, because guard refuses ambiguous paths
		if strings.HasPrefix(r.URL.Path, answerpage.Prefix) {
			answers.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})))
}

// Answers returns a handler for a listener that a proxy may open to the world. The handler serves only the
// answer page. It accepts every Host and Origin, because an answer needs a valid token.
func Answers(b answerpage.Backend) http.Handler { return guard(answerpage.New(b)) }

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

func routes(c Config) http.Handler {
	useProblems()
	e := &edge{
		backend: c.Backend, clock: c.Clock,
		eventStreams: heldAtMost(mostEvents, "streams of events"),
		waits:        heldAtMost(mostWaits, "requests with wait="),
		polls:        heldAtMost(mostPolls, "receives from queues"),
		submissions:  heldAtMost(mostSubmissions, "streams of orders"),
	}
	e.clock = cmp.Or[port.Clock](e.clock, port.ClockFunc(time.Now))
	mux := http.NewServeMux()
	doc := humago.New(mux, configOf(c.Version))
	e.registerOrders(doc)
	e.registerCommands(doc)
	e.registerHealth(doc)
	e.documentSubmit(doc)
	mux.HandleFunc("POST /v1/orders", e.submit)
	serveDocument(mux, doc.OpenAPI())
	if c.Metrics != nil {
		mux.Handle("GET /metrics", c.Metrics)
	}
	for _, pattern := range c.PagePaths {
		mux.Handle(pattern, drained(c.Pages))
	}

	queues := sqsproto.New(sqsproto.Config{
		Queues: c.Backend, LongPoll: e.polls.begin,
		Sinks:      map[string]sqsproto.Sink{port.Intake: e.intake, port.Control: e.control},
		ReceiptKey: c.ReceiptKey,
	})
	mux.Handle("POST /{$}", queues)
	mux.Handle("POST "+sqsproto.Path+"{queue}", queues)
	mux.HandleFunc("/", elsewhere(mux, c.Pages))
	return mux
}

// elsewhere responds to unknown paths with 404, and to unknown methods of known paths with 405. A browser gets
// the 404 as a page.
func elsewhere(mux *http.ServeMux, pages http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			as := &http.Request{Method: method, URL: r.URL, Host: r.Host}
			_, pattern := mux.Handler(as)
			if pattern != "/" && !slices.Contains(allow, method) {
				allow = append(allow, method)
			}
		}
		if len(allow) == 0 || slices.Contains(allow, r.Method) {
			if pages != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
				pages.ServeHTTP(w, r)
				return
			}
			writeProblem(w, problem(http.StatusNotFound, CodeNotFound,
				"there is nothing at %.200q; /openapi.json lists what there is", r.URL.Path))
			return
		}
		p := problem(http.StatusMethodNotAllowed, CodeMethod, "%.200q knows %s, not %.20s",
			r.URL.Path, strings.Join(allow, ", "), r.Method)
		p.headers = map[string]string{"Allow": strings.Join(allow, ", ")}
		writeProblem(w, p)
	}
}

var _ huma.StatusError = (*Problem)(nil)
