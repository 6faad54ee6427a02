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

// Workflows is the list of workflows that orders can name.
type Workflows struct {
	Workflows []view.WorkflowInfo `json:"workflows" nullable:"false"`
}

// Schedules is the list of workflows that start by the clock.
type Schedules struct {
	Schedules []schedule.Record `json:"schedules" nullable:"false"`
}

type schedulesOutput struct{ Body Schedules }

type definitionInput struct {
	Name       string `path:"name" maxLength:"80" doc:"the workflow's name"`
	Definition string `query:"definition" default:"latest" pattern:"^(latest|[0-9a-f]{32})$" doc:"the hash of a version, or latest: the one that new orders get"`
}

type definitionOutput struct{ Body view.Definition }

type statisticsOutput struct{ Body view.Statistics }

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
	e.registerStatistics(doc)
	e.registerWorkflows(doc)
}

func (e *edge) registerWorkflows(doc huma.API) {
	huma.Register(doc, huma.Operation{
		OperationID: "list-workflows", Method: http.MethodGet, Path: "/v1/workflows",
		Tags:    []string{"workflows"},
		Summary: "Workflows that orders can name, and what is wrong with newer files",
		Errors:  []int{403, 503},
	}, func(ctx context.Context, _ *struct{}) (*workflowsOutput, error) {
		all := e.backend.Workflows(ctx)
		if all == nil {
			all = []view.WorkflowInfo{}
		}
		return &workflowsOutput{Workflows{all}}, nil
	})
	huma.Register(doc, huma.Operation{
		OperationID: "get-workflow", Method: http.MethodGet, Path: "/v1/workflows/{name}",
		Tags:    []string{"workflows"},
		Summary: "A version of a workflow: its steps, and what they come after",
		Errors:  []int{400, 403, 404, 503},
	}, func(ctx context.Context, in *definitionInput) (*definitionOutput, error) {
		to, err := e.backend.Target(ctx, in.Name, in.Definition)
		if err != nil {
			return nil, problemOf(err)
		}
		if to.Definition == nil || to.Definition.Name != in.Name {
			return nil, problem(http.StatusNotFound, CodeNotFound, "workflow %.80q, definition %.40q: %s",
				in.Name, in.Definition, cmp.Or(to.Absent, "that is a definition of another workflow"))
		}
		return &definitionOutput{view.DefinitionOf(to.Definition)}, nil
	})
	huma.Register(doc, huma.Operation{
		OperationID: "list-schedules", Method: http.MethodGet, Path: "/v1/schedules",
		Tags:    []string{"workflows"},
		Summary: "Workflows that start by the clock: the next time, the last starts, and what was skipped",
		Errors:  []int{403, 503},
	}, func(ctx context.Context, _ *struct{}) (*schedulesOutput, error) {
		all, err := e.backend.Schedules(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &schedulesOutput{Schedules{all}}, nil
	})
}

func (e *edge) registerStatistics(doc huma.API) {
	huma.Register(doc, huma.Operation{
		OperationID: "get-statistics", Method: http.MethodGet, Path: "/v1/statistics",
		Tags:    []string{"health"},
		Summary: "Figures of the last hour at most, and of the agents now", Errors: []int{403, 503},
	}, func(ctx context.Context, _ *struct{}) (*statisticsOutput, error) {
		x, err := e.backend.Statistics(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &statisticsOutput{x}, nil
	})
}
