package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Switched lists what Pause or Resume switched.
type Switched struct {
	Schedule string   `json:"schedule"` // name of the schedule or of the rule that starts the Supervisor
	Queues   []string `json:"queues"`   // queues whose event source mapping was switched
	// External lists the queues of external agents. The calls do not affect the processes of these agents.
	External []string `json:"external"`
	// DeployedPaused is true if the stack was deployed with Props.Paused, so that Resume refuses it.
	DeployedPaused bool `json:"deployedPaused,omitempty"`
}

// Pause stops a deployment, named as in OpenWith: no function of the deployment starts any more. It disables
// the schedule of the Supervisor and all event source mappings, and blocks until they are disabled. Messages
// stay in their queues. Functions that run end within their timeouts. External agents continue to run.
//
// CloudFormation does not change what Pause changed, unless a deployment changes the same property. So a
// paused deployment stays paused while its tables are replaced, until Resume. Both calls can be repeated
// after an error.
//
// No policy of the deployment allows the calls. docs/how-to/aws-restore.md lists their permissions.
func Pause(ctx context.Context, c sdk.Config, name string) (Switched, error) {
	return set(ctx, c, name, false)
}

// Resume starts a deployment that Pause stopped. It enables all event source mappings and then the schedule,
// and blocks until they are enabled. It refuses a deployment with Props.Paused. Such a deployment may be the
// standby of a Region that is active.
func Resume(ctx context.Context, c sdk.Config, name string) (Switched, error) {
	return set(ctx, c, name, true)
}

// set enables or disables the mappings and the schedule of a stack.
func set(ctx context.Context, c sdk.Config, name string, enabled bool) (done Switched, err error) {
	outputs, err := aws.Describe(ctx, c, name)
	switch {
	case err != nil:
		return done, err
	case outputs.Schedule == "" && outputs.Rule == "":
		return done, client.Errorf(http.StatusConflict, "old-stack",
			"the stack does not name its schedule; deploy it again with this version")
	case enabled && outputs.Paused:
		return done, client.Errorf(http.StatusConflict, "deployed-paused",
			"the stack was deployed with Paused; deploy it without, which starts it")
	}
	s := switcher{Config: c, outputs: outputs, enabled: enabled}
	steps := []func(context.Context) error{s.schedule, s.mappings}
	if enabled { // a sweep sends messages, so the consumers come first
		slices.Reverse(steps)
	}
	for _, step := range steps {
		err = errors.Join(err, step(ctx))
	}
	done = Switched{Schedule: cmp.Or(outputs.Schedule, outputs.Rule), DeployedPaused: outputs.Paused}
	for queue, uuid := range outputs.Mappings {
		if uuid == "" {
			done.External = append(done.External, queue)
			continue
		}
		done.Queues = append(done.Queues, queue)
	}
	slices.Sort(done.Queues)
	slices.Sort(done.External)
	return done, err
}

type switcher struct {
	sdk.Config
	outputs aws.Outputs
	enabled bool
}

func (s switcher) failed(ctx context.Context, action, on string, err error) error {
	return aws.Failed(ctx, aws.Use{Action: action, On: on}, err)
}

// schedule sets the state of the schedule or of the rule. EventBridge Scheduler replaces the whole schedule,
// so the update repeats all that the schedule has.
func (s switcher) schedule(ctx context.Context) error {
	if rule := s.outputs.Rule; rule != "" {
		return s.rule(ctx, rule)
	}
	name := s.outputs.Schedule
	schedules := scheduler.NewFromConfig(s.Config)
	is, err := schedules.GetSchedule(ctx, &scheduler.GetScheduleInput{Name: &name})
	if err != nil {
		return s.failed(ctx, "scheduler:GetSchedule", "schedule "+name, err)
	}
	want := types.ScheduleStateDisabled
	if s.enabled {
		want = types.ScheduleStateEnabled
	}
	if is.State == want {
		return nil
	}
	_, err = schedules.UpdateSchedule(ctx, &scheduler.UpdateScheduleInput{
		Name: is.Name, GroupName: is.GroupName, State: want, Target: is.Target,
		ScheduleExpression: is.ScheduleExpression, ScheduleExpressionTimezone: is.ScheduleExpressionTimezone,
		FlexibleTimeWindow: is.FlexibleTimeWindow, ActionAfterCompletion: is.ActionAfterCompletion,
		Description: is.Description, StartDate: is.StartDate, EndDate: is.EndDate, KmsKeyArn: is.KmsKeyArn,
	})
	return s.failed(ctx, "scheduler:UpdateSchedule", "schedule "+name, err)
}

func (s switcher) rule(ctx context.Context, name string) error {
	operation := "DisableRule"
	if s.enabled {
		operation = "EnableRule"
	}
	err := direct.New(s.Config, direct.EventBridge).JSON(ctx, operation, map[string]string{"Name": name}, nil)
	return s.failed(ctx, "events:"+operation, "rule "+name, err)
}

// mappings sets the states of all mappings. If some mappings fail, it sets the others all the same.
func (s switcher) mappings(ctx context.Context) error {
	functions := direct.New(s.Config, direct.Lambda)
	var queues []string
	for queue, uuid := range s.outputs.Mappings {
		if uuid != "" {
			queues = append(queues, queue)
		}
	}
	slices.Sort(queues)
	errs := make([]error, len(queues))
	var all errgroup.Group
	all.SetLimit(looksAtOnce)
	for i, queue := range queues {
		all.Go(func() error {
			errs[i] = s.mapping(ctx, functions, queue, s.outputs.Mappings[queue])
			return nil
		})
	}
	_ = all.Wait() // the goroutines return no error
	return errors.Join(errs...)
}

// mappingLook is the time between two looks at a mapping that changes. Lambda needs some seconds for a change.
const mappingLook = time.Second

// mapping sets the state of one mapping, and waits until Lambda reports the state. While a mapping changes,
// Lambda refuses a further change.
func (s switcher) mapping(ctx context.Context, functions *direct.Client, queue, uuid string) error {
	want := "Disabled"
	if s.enabled {
		want = "Enabled"
	}
	on := "the event source mapping of " + queue
	for {
		is, _, err := readMapping(ctx, functions, uuid)
		if err != nil {
			return s.failed(ctx, "lambda:GetEventSourceMapping", on, err)
		}
		state := is.State
		if state == "Enabled" && !s.enabled || state == "Disabled" && s.enabled {
			changed, err := enableMapping(ctx, functions, uuid, s.enabled)
			switch code := direct.Code(err); {
			case code == "ResourceInUseException" || code == "ResourceConflictException": // somebody else changes it
			case err != nil:
				return s.failed(ctx, "lambda:UpdateEventSourceMapping", on, err)
			default:
				state = changed.State
			}
		}
		if state == want {
			return nil
		}
		if err := port.Sleep(ctx, mappingLook); err != nil {
			return fmt.Errorf("%s is still %s: %w", on, state, err)
		}
	}
}
