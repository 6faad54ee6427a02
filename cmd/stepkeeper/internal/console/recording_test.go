package console_test

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// promised holds the schemas of the API's responses, from the document that the real HTTP edge serves. The
// tests of dev/api check the edge against this document, and likeTheAPI checks the recording, so that both
// stay the same.
var promised = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	file, err := os.Open("../../../../dev/api/testdata/openapi.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c, c.AddResource("http://test/openapi.json", document)
})

// likeTheAPI checks each response of a recorded server before it is sent.
func likeTheAPI(t *testing.T, recorded *http.ServeMux) http.Handler {
	t.Helper()
	compiler, err := promised()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := httptest.NewRecorder()
		recorded.ServeHTTP(given, r)
		_, pattern := recorded.Handler(r)
		if path, ok := strings.CutPrefix(pattern, http.MethodGet+" "); ok && given.Code == http.StatusOK {
			place := "http://test/openapi.json#/paths/" + strings.ReplaceAll(path, "/", "~1") +
				"/get/responses/200/content/application~1json/schema"
			schema, err := compiler.Compile(place)
			if err == nil {
				var v any
				if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(given.Body.Bytes())); err == nil {
					err = schema.Validate(v)
				}
			}
			if err != nil {
				t.Errorf("the recorded %s is no answer of the API: %v\n%.400s", r.URL, err, given.Body)
			}
		}
		maps.Copy(w.Header(), given.Header())
		w.WriteHeader(given.Code)
		_, _ = w.Write(given.Body.Bytes()) // the console is gone if this fails
	})
}
