package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

type healthOutput struct {
	Status int
	Body   Health
}

// Workflows is the list of workflows that orders can name.
type Workflows struct {
	Workflows []WorkflowInfo `json:"workflows" nullable:"false"`
}

// Schedules is the list of workflows that start by the clock.
type Schedules struct {
	Schedules []schedule.Record `json:"schedules" nullable:"false"`
}

type schedulesOutput struct{ Body Schedules }

type workflowsOutput struct{ Body Workflows }

func (e *edge) registerHealth(doc huma.API) {
	huma.Register(doc, huma.Operation{
		OperationID: "health", Method: http.MethodGet, Path: "/healthz", Tags: []string{"health"},
		Summary: "The process is alive; what it says of itself",
	}, func(ctx context.Context, _ *struct{}) (*healthOutput, error) {
		return &healthOutput{http.StatusOK, e.backend.Health(ctx)}, nil
	})
	huma.Register(doc, huma.Operation{
		OperationID: "readiness", Method: http.MethodGet, Path: "/readyz", Tags: []string{"health"},
		Summary: "200 if it takes orders, else 503",
		Responses: map[string]*huma.Response{"503": {
			Description: "It takes no orders now; checks say why",
			Content:     map[string]*huma.MediaType{jsonType: {Schema: schemaOf[Health](doc)}},
		}},
	}, func(ctx context.Context, _ *struct{}) (*healthOutput, error) {
		h := e.backend.Health(ctx)
		if !h.Ready {
			return &healthOutput{http.StatusServiceUnavailable, h}, nil
		}
		return &healthOutput{http.StatusOK, h}, nil
	})
	huma.Register(doc, huma.Operation{
		OperationID: "list-workflows", Method: http.MethodGet, Path: "/v1/workflows", Tags: []string{"workflows"},
		Summary: "Workflows that orders can name, and what is wrong with newer files", Errors: []int{403, 503},
	}, func(ctx context.Context, _ *struct{}) (*workflowsOutput, error) {
		all := e.backend.Workflows(ctx)
		if all == nil {
			all = []WorkflowInfo{}
		}
		return &workflowsOutput{Workflows{all}}, nil
	})
	huma.Register(doc, huma.Operation{
		OperationID: "list-schedules", Method: http.MethodGet, Path: "/v1/schedules", Tags: []string{"workflows"},
		Summary: "Workflows that start by the clock: the next time, the last starts, and what was skipped", Errors: []int{403, 503},
	}, func(ctx context.Context, _ *struct{}) (*schedulesOutput, error) {
		all, err := e.backend.Schedules(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &schedulesOutput{Schedules{all}}, nil
	})
}
