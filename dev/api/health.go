package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type healthOutput struct {
	Status int
	Body   Health
}

// Workflows is the response that lists the workflows that orders can name.
type Workflows struct {
	Workflows []view.WorkflowInfo `json:"workflows" nullable:"false"`
}

// Schedules is the response that lists the schedules of the workflows.
type Schedules struct {
	Schedules []schedule.Record `json:"schedules" nullable:"false"`
}

type definitionInput struct {
	Name       string `path:"name" maxLength:"80" doc:"the workflow's name"`
	Definition string `query:"definition" default:"latest" pattern:"^(latest|[0-9a-f]{32})$" doc:"the hash of a version, or latest: the one that new orders get"`
}

// output is a response body in the form that the HTTP library huma expects.
type output[T any] struct{ Body T }

// read registers a GET operation. problems lists the statuses of the operation's error responses.
func read[In, Out any](doc huma.API, tag, name, path, summary string, problems []int,
	answer func(context.Context, *In) (Out, error),
) {
	huma.Register(doc, huma.Operation{
		OperationID: name, Method: http.MethodGet, Path: path, Tags: []string{tag}, Summary: summary,
		Errors: problems,
		// Probes may add a parameter to defeat caches.
		SkipValidateParams: tag == "health",
	}, func(ctx context.Context, in *In) (*output[Out], error) {
		out, err := answer(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &output[Out]{out}, nil
	})
}

func (e *edge) registerHealth(doc huma.API) {
	read(doc, "health", "health", "/healthz", "The process is alive; what it says of itself", nil,
		func(ctx context.Context, _ *struct{}) (Health, error) { return e.backend.Health(ctx), nil })
	huma.Register(doc, huma.Operation{
		OperationID: "readiness", Method: http.MethodGet, Path: "/readyz", Tags: []string{"health"},
		Summary: "200 if it accepts orders, else 503", SkipValidateParams: true,
		Responses: map[string]*huma.Response{"503": {
			Description: "It accepts no orders now; the checks name the reason",
			Content:     map[string]*huma.MediaType{jsonType: {Schema: schemaOf[Health](doc)}},
		}},
	}, func(ctx context.Context, _ *struct{}) (*healthOutput, error) {
		h := &healthOutput{http.StatusOK, e.backend.Health(ctx)}
		if !h.Body.Ready {
			h.Status = http.StatusServiceUnavailable
		}
		return h, nil
	})
	read(doc, "health", "get-statistics", "/v1/statistics",
		"Figures of the last hour at most, and of the agents now", []int{403, 503},
		func(ctx context.Context, _ *struct{}) (view.Statistics, error) { return e.backend.Statistics(ctx) })
	read(doc, "workflows", "list-workflows", "/v1/workflows",
		"Workflows that orders can name, and what is wrong with newer files", []int{403, 503},
		func(ctx context.Context, _ *struct{}) (Workflows, error) {
			return Workflows{append([]view.WorkflowInfo{}, e.backend.Workflows(ctx)...)}, nil
		})
	read(doc, "workflows", "get-workflow", "/v1/workflows/{name}",
		"A version of a workflow, with its steps", []int{400, 403, 404, 503},
		e.definition)
	read(doc, "workflows", "list-schedules", "/v1/schedules",
		"Workflows that start by the clock, with their next and last times",
		[]int{403, 503}, func(ctx context.Context, _ *struct{}) (Schedules, error) {
			all, err := e.backend.Schedules(ctx)
			return Schedules{all}, err
		})
}

func (e *edge) definition(ctx context.Context, in *definitionInput) (d view.Definition, err error) {
	to, err := e.backend.Target(ctx, in.Name, in.Definition)
	if err != nil {
		return d, err
	}
	if to.Definition == nil || to.Definition.Name != in.Name {
		return d, problem(http.StatusNotFound, CodeNotFound, "workflow %.80q, definition %.40q: %s",
			in.Name, in.Definition, cmp.Or(to.Absent, "that is a definition of another workflow"))
	}
	return view.DefinitionOf(to.Definition), nil
}
