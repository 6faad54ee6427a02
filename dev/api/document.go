package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	jsonType   = "application/json"
	linesType  = "application/x-ndjson"
	eventsType = "text/event-stream"
)

// configOf returns the configuration of the HTTP library huma. With this configuration, huma:
//
//   - adds no $schema fields
//   - serves no documentation page, because the page would load scripts from other sites
//   - accepts only JSON
//   - refuses unknown query parameters
func configOf(version string) huma.Config {
	version = cmp.Or(version, "dev")
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[core.Time](), reflect.TypeFor[time.Time]())
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Stepkeeper", Version: version,
				Description: "Runs orders to one of two outcomes: every step succeeds, or every completed " +
					"step is undone. " +
					"The same address serves the queues in SQS's JSON protocol (POST / with an AWS SDK " +
					"and this endpoint URL).",
			},
			Components: &huma.Components{Schemas: registry},
		},
		Formats:       map[string]huma.Format{jsonType: jsonFormat, "json": jsonFormat},
		DefaultFormat: jsonType,
	}
	c.RejectUnknownQueryParameters = true
	return c
}

var jsonFormat = huma.Format{Marshal: writeFormat, Unmarshal: readFormat}

// writeFormat writes the whole value or nothing. If the value cannot be encoded, writeFormat panics, and
// guard turns the panic into a response. huma itself would append an error text to a response with status
// 200.
func writeFormat(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
		panic(err)
	}
	_, _ = w.Write(b.Bytes()) // a failure means that the client has disconnected
	return nil
}

// readFormat reads a body that is strict JSON within the limits of package rawjson. Its values are in their
// shortest form, which the limits of commands are about.
func readFormat(data []byte, to any) error {
	data, err := rawjson.Shortest(data, rawjson.MaxLevels)
	if err != nil {
		return err
	}
	if generic, ok := to.(*any); ok { // huma validates a generic value against the schema
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		_ = d.Decode(generic) // Check has read the whole text, and a json.Number has no range
		*generic = withFloats(*generic)
		return nil
	}
	err = json.Unmarshal(data, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) { // the integer is valid for the schema, but too large for the field
		// wrong.Field begins with the names of embedded types
		field := wrong.Field[strings.LastIndex(wrong.Field, ".")+1:]
		return fmt.Errorf("%s: found %s; give a whole number of at most %d, in digits", field, wrong.Value,
			math.MaxInt)
	}
	return err
}

// withFloats converts each number to a float64, as huma expects. A number beyond the range of float64 becomes
// infinite. rawjson.MaxExponent permits such numbers in values from users and services.
func withFloats(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = withFloats(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withFloats(v[name])
		}
	}
	return v
}

// serveDocument serves the OpenAPI document in both forms. Each form is written at its first request, because most
// processes serve none.
func serveDocument(mux *http.ServeMux, doc *huma.OpenAPI) {
	for form, write := range map[string]func() ([]byte, error){
		"json": func() ([]byte, error) { return json.MarshalIndent(doc, "", " ") },
		"yaml": doc.YAML,
	} {
		text := sync.OnceValues(write)
		mux.HandleFunc("GET /openapi."+form, func(w http.ResponseWriter, _ *http.Request) {
			document, err := text()
			if err != nil {
				panic(fmt.Sprintf("the OpenAPI document cannot be written: %v", err)) // this package has a mistake
			}
			w.Header().Set("Content-Type", "application/openapi+"+form)
			_, _ = w.Write(document)
		})
	}
}

func schemaOf[T any](doc huma.API) *huma.Schema {
	return doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// responses returns the responses in by, and a Problem for each status in problems.
func responses(doc huma.API, by map[int]*huma.Response, problems []int) map[string]*huma.Response {
	all := map[string]*huma.Response{}
	for status, r := range by {
		all[strconv.Itoa(status)] = r
	}
	for _, status := range problems {
		all[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{problemType: {Schema: schemaOf[Problem](doc)}},
		}
	}
	return all
}

// documentSubmit describes POST /v1/orders in the OpenAPI document. huma does not handle this operation,
// because message.DecodeSubmit reads the body. The refusals are therefore the same as for messages in the
// intake queue.
func (e *edge) documentSubmit(doc huma.API) {
	ref := schemaOf[message.SubmitOrder](doc)
	doc.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "submit-orders", Method: http.MethodPost, Path: "/v1/orders", Tags: []string{"orders"},
		Summary: "Submit one order, or a stream of them",
		Description: "With Content-Type " + jsonType + " the body is one order. With " + linesType +
			" each line is one; " +
			"each line that is not blank is answered by one line, in their order, while the stream is " +
			"still being sent. " +
			"A line that is refused does not touch the others. An order is acknowledged after it was " +
			"stored. Sending the same order again is harmless.",
		Parameters: []*huma.Param{{
			Name: "wait", In: "query", Schema: &huma.Schema{Type: "string", Examples: []any{"30s"}},
			Description: "of one order: wait so long for its end, at most " + MaxWait.String() +
				"; 200 and the task if it has come, else 202",
		}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			jsonType:  {Schema: ref},
			linesType: {Schema: ref},
		}},
		Responses: responses(doc, map[int]*huma.Response{
			http.StatusAccepted: {
				Description: "Stored and started",
				Content:     map[string]*huma.MediaType{jsonType: {Schema: schemaOf[Receipt](doc)}},
			},
			http.StatusOK: {
				Description: "The task at its end (with wait), or one answer a line (of a stream)",
				Content: map[string]*huma.MediaType{
					jsonType:  {Schema: schemaOf[view.Task](doc)},
					linesType: {Schema: schemaOf[LineResult](doc)},
				},
			},
		}, []int{400, 403, 409, 413, 415, 429, 500, 503}),
	})
}
