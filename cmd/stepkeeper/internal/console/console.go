// Package console serves web pages for the operator of a deployment. The pages show the orders that need
// attention, the reasons, and the next commands.
//
// The console reaches the deployment only through package client. Therefore a user's program can do
// everything that the console does.
//
// The console is made for one person on the loopback interface. Every program that reaches the console acts
// with the credentials of the console's process.
package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Options configures New. Client, Name and Program are required.
type Options struct {
	Client   *client.Client
	Name     string // name of the server or stack, as shown on the pages
	Program  string // command line for the deployment, such as "stepkeeper --stack shop"
	ReadOnly bool   // true to refuse every action
	Folder   string // folder for the files of bulk commands; "" means the working directory
	Redact   Redaction
	Log      *slog.Logger
	Now      func() time.Time // clock; nil means time.Now
}

const mostCached = 256

// answerTime is the time limit for reading a page's data from the deployment.
const answerTime = 20 * time.Second

// policy is the content security policy. It allows only content of this package. It forbids inline scripts,
// style attributes and frames.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

//go:embed assets
var assets embed.FS

//go:embed *.html
var sources embed.FS

type server struct {
	Options
	boot     string // random name of this process, used in the IDs of events
	secret   string // secret in each form, against forged requests
	pages    *template.Template
	version  string // hash of the assets, in their addresses
	outcomes *expirable.LRU[string, *outcome]
	streams  streams
	bulks    *expirable.LRU[string, *running] // lists of bulk commands by ID, the newest last

	checked    cached[checked]
	stopped    cached[stopped]
	counted    cached[counted]
	deadQueues cached[[]client.DeadLetterQueue]
	letters    *expirable.LRU[string, lettersLooked]     // messages by queue
	agentsOf   *expirable.LRU[string, map[string]string] // agents by step, for each definition
}

// New returns the handler of all pages.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	s := &server{
		Options: o, boot: rand.Text()[:8], secret: rand.Text(), version: assetsVersion(),
		outcomes: expirable.NewLRU[string, *outcome](mostCached, nil, 0),
		bulks:    expirable.NewLRU[string, *running](0, nil, 0), // it forgets none
		letters:  expirable.NewLRU[string, lettersLooked](mostCached, nil, 0),
		agentsOf: expirable.NewLRU[string, map[string]string](mostCached, nil, 0),
		streams:  streams{open: map[string][]chan struct{}{}},
	}
	s.pages = template.Must(template.New("").Funcs(s.functions()).ParseFS(sources, "*.html"))
	mux := http.NewServeMux()
	for pattern, p := range pages {
		show := func(ctx context.Context, r *http.Request, k *kept) (content, error) { return p(s, ctx, r, k) }
		mux.HandleFunc("GET "+pattern, s.page(show))
		mux.HandleFunc("GET "+livePrefix+pattern, s.live(show, strings.HasPrefix(pattern, "/orders/")))
	}
	for pattern, act := range actions {
		mux.HandleFunc("POST "+pattern, func(w http.ResponseWriter, r *http.Request) {
			if s.mayAct(w, r) {
				act(s, w, r)
			}
		})
	}
	mux.HandleFunc("GET /assets/{version}/{name}", s.asset)
	mux.HandleFunc("/", s.page(s.nothing))
	return secured(mux)
}

// The pages, and the forms that act, by the patterns of their paths.
var (
	pages = map[string]func(*server, context.Context, *http.Request, *kept) (content, error){
		"/{$}":                  (*server).overview,
		"/orders":               (*server).orders,
		"/orders/{id}":          (*server).order,
		"/orders/{id}/move":     (*server).move,
		"/incidents":            (*server).incidents,
		"/waiting":              (*server).waiting,
		"/answers":              (*server).answers,
		"/workflows":            (*server).workflows,
		"/workflows/{name}":     (*server).workflow,
		"/health":               (*server).health,
		"/dead-letters":         (*server).deadLetters,
		"/dead-letters/{queue}": (*server).deadQueue,
		"/bulk":                 (*server).planBulk,
		"/bulk/{id}":            (*server).showBulk,
	}
	actions = map[string]func(*server, http.ResponseWriter, *http.Request){
		"/orders/{id}/command":  (*server).command,
		"/bulk":                 (*server).startBulk,
		"/bulk/{id}/stop":       (*server).stopBulk,
		"/dead-letters/{queue}": (*server).handleDead,
	}
)

// Paths returns the patterns that the handler of New serves. A server that also has other handlers needs these
// patterns.
func Paths() []string {
	all := []string{"GET " + livePrefix + "/", "GET /assets/"}
	for pattern := range pages {
		all = append(all, "GET "+pattern)
	}
	for pattern := range actions {
		all = append(all, "POST "+pattern)
	}
	return all
}

func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// assetsVersion returns a hash of all assets.
func assetsVersion() string {
	hash := sha256.New()
	err := fs.WalkDir(assets, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := assets.ReadFile(path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(body), body)
		return err
	})
	if err != nil {
		panic(err) // The embedded files can always be read.
	}
	return hex.EncodeToString(hash.Sum(nil)[:4])
}

// asset serves a file that never changes under its address.
func (s *server) asset(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("version") != s.version {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeFileFS(w, r, assets, "assets/"+r.PathValue("name"))
}

func (s *server) functions() template.FuncMap {
	return template.FuncMap{
		"asset":     func(name string) string { return "/assets/" + s.version + "/" + name },
		"time":      func(t core.Time) template.HTML { return timeElement(t, "") },
		"ago":       func(t core.Time) template.HTML { return timeElement(t, ` class="ago"`) },
		"json":      s.shown,
		"state":     stateClass,
		"clean":     render.Clean,
		"back":      render.HandedBack,
		"waitsFor":  func(w view.Wait) string { return render.WaitTexts[w.For] },
		"lower":     strings.ToLower,
		"count":     view.Count,
		"number":    func(n int) string { return humanize.Comma(int64(n)) },
		"entry":     render.Entry,
		"earlier":   render.Earlier,
		"children":  render.Children,
		"effect":    render.Effect,
		"span":      func(d time.Duration) string { return render.Span(d) },
		"pages":     func() []link { return links },
		"token":     func() string { return s.secret },
		"readOnly":  func() bool { return s.ReadOnly },
		"program":   func() string { return s.Program },
		"stdago":    func(t time.Time) template.HTML { return timeElement(core.TimeOf(t), ` class="ago"`) },
		"last":      lastStart,
		"body":      s.body,
		"deleted":   func(sent time.Time) time.Time { return sent.Add(client.KeptFor) },
		"firstPage": func(f filter) string { return f.Address("") },
	}
}

type link struct{ Title, Path, Key string }

var links = []link{
	{"Overview", "/", "h"},
	{"Orders", "/orders", "o"},
	{"Incidents", "/incidents", "i"},
	{"Waiting", "/waiting", "w"},
	{"Answers", "/answers", "a"},
	{"Bulk", "/bulk", "b"},
	{"Dead letters", "/dead-letters", "d"},
	{"Workflows", "/workflows", "f"},
	{"Health", "/health", "e"},
}

func lastStart(all []client.ScheduledStart) *client.ScheduledStart {
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// timeElement returns an HTML element with a time in UTC. A script converts the time to the viewer's time
// zone. If the class is "ago", the script shows the age instead.
func timeElement(t core.Time, class string) template.HTML {
	if t == 0 {
		return "–"
	}
	//nolint:gosec // the text consists of numbers and a class
	return template.HTML(fmt.Sprintf(`<time%s datetime="%s" title="%s">%[3]s</time>`, class,
		t.Std().UTC().Format(time.RFC3339Nano), render.Moment(t)))
}

func stateClass(s core.State) string { return "state " + strings.ToLower(string(s)) }

// shown returns a document as indented and redacted text.
func (s *server) shown(doc json.RawMessage) string {
	if len(doc) == 0 {
		return ""
	}
	v := jsontext.Value(bytes.Clone(s.Redact.Apply(doc)))
	_ = v.Format(jsontext.Multiline(true), jsontext.WithIndent("  "),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // the document was valid
	return render.CleanLines(v.String())
}

// content is the part of a page between the head and the foot.
type content struct {
	Title    string
	Template string
	Data     any
	Charts   bool // true if the page needs the script for charts
	Busy     bool // true while the console itself works for the page, so that no change of an order tells its end
	Status   int  // HTTP status; 0 means 200
}

// pageFunc returns the content of a page. For an open page, kept holds the state between two reads. For a
// page that is read only once, kept is nil.
type pageFunc func(ctx context.Context, r *http.Request, kept *kept) (content, error)

func (s *server) trouble(err error) content {
	switch {
	case errors.Is(err, client.ErrNotFound):
		return refusal("Not found", http.StatusNotFound, "There is no such order.",
			"Check its ID. One that was submitted a moment ago may still be in its queue; it then appears "+
				"here by itself.")
	case errors.Is(err, client.ErrConnection), errors.Is(err, context.DeadlineExceeded):
		return refusal("Not available", http.StatusBadGateway, s.Name+" does not answer: "+err.Error(),
			"Is it running? It is tried again by itself.")
	case errors.Is(err, client.ErrForbidden):
		return refusal("Not available", http.StatusBadGateway,
			"These credentials may not read this: "+err.Error(),
			"Start the console with credentials that have the operator's rights.")
	case errors.Is(err, client.ErrInvalid):
		return refusal("Not understood", http.StatusBadRequest, err.Error(),
			"Correct the address, or begin at the overview.")
	}
	return refusal("Not available", http.StatusBadGateway, "This could not be read: "+err.Error(),
		"It is tried again by itself; the log of the deployment may say more.")
}

// read returns the content of a page. If p fails, read returns a page that explains the error.
func (s *server) read(ctx context.Context, r *http.Request, p pageFunc, k *kept) content {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c, err := p(ctx, r, k)
	if err != nil {
		return s.trouble(err)
	}
	return c
}

func (s *server) fragment(c content) (template.HTML, error) {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, c.Template, c.Data); err != nil {
		return "", fmt.Errorf("page %s: %w", c.Template, err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // a template of this package has escaped it
}

type whole struct {
	Title, Name, Live, Path string
	Charts                  bool
	Body                    template.HTML
}

func (s *server) page(p pageFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := s.read(r.Context(), r, p, nil)
		body, err := s.fragment(c)
		var b bytes.Buffer
		if err == nil {
			err = s.pages.ExecuteTemplate(&b, "frame", whole{Title: c.Title, Name: s.Name, Live: livePrefix +
				r.URL.RequestURI(), Path: r.URL.Path, Charts: c.Charts, Body: body})
		}
		if err != nil {
			s.Log.Error("a page of the console cannot be shown", "path", r.URL.Path, "error", err)
			http.Error(w, "this page cannot be shown; the console's log has the reason",
				http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if c.Status != 0 {
			w.WriteHeader(c.Status)
		}
		_, _ = w.Write(b.Bytes())
	}
}

func (s *server) nothing(context.Context, *http.Request, *kept) (content, error) {
	return refusal("Not found", http.StatusNotFound, "There is no such page.", "Begin at the overview."), nil
}

func refusal(title string, status int, what, do string) content {
	return content{
		Title: title, Template: "trouble", Status: status,
		Data: struct{ Title, What, Do string }{title, what, do},
	}
}
