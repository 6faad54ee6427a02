package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// order is the example's workflow, compiled.
func order(t *testing.T) (*core.Definition, []byte) {
	t.Helper()
	d, problems := source.LoadFile("../../../examples/order/order.yaml", source.Options{})
	require.NoError(t, problems.Err())
	data, err := workflow.Encode(d)
	require.NoError(t, err)
	return d, data
}

func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

func TestWorkflows(t *testing.T) {
	d, data := order(t)
	got, err := cloud.Workflows(folder(t, map[string][]byte{"order.json": data, "README.md": nil}))
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.NotNil(t, got["order"], "%v, %v", got, err)
	require.Equal(t, d.Hash, got["order"].Hash)
	// What the Scheduler stores under the hash is what the hash names.
	again, err := workflow.Encode(got["order"])
	require.NoError(t, err)
	require.Equal(t, got["order"].Hash, workflow.Hash(again))
}

// P40: a workflow of children has them at hand, by the hash that it is pinned to; without them it is refused.
func TestWorkflowsOfChildren(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"family", "leaf"} {
		d, problems := source.LoadFile("../../../shared/workflow/source/testdata/children/"+name+".yaml",
			source.Options{})
		require.NotNil(t, d, "%v", problems)
		data, err := workflow.Encode(d)
		require.NoError(t, err)
		files[name+".json"] = data
	}
	got, err := cloud.Workflows(folder(t, files))
	require.NoError(t, err)
	require.NotNil(t, got["family"], "%v, %v", got, err)
	require.NotNil(t, got["leaf"], "%v, %v", got, err)
	if of := got["family"].Steps[0].Each; of.Child != got["leaf"] || of.Definition != got["leaf"].Hash {
		t.Errorf("the children's workflow: %+v", of)
	}
	delete(files, "leaf.json")
	_, err = cloud.Workflows(folder(t, files))
	require.ErrorContains(t, err, "workflow family has children of the workflow leaf, hash "+got["leaf"].Hash)
}

// P55: the definitions of blocks are files of the package too, and no order can name them.
func TestWorkflowsWithBlocks(t *testing.T) {
	d, problems := source.LoadFile("../../../examples/made-to-order/made-to-order.yaml", source.Options{})
	require.NoError(t, problems.Err())
	files := map[string][]byte{}
	for _, definition := range d.WithBlocks() {
		data, err := workflow.Encode(definition)
		require.NoError(t, err)
		files[definition.Name+".json"] = data
	}
	require.Contains(t, files, "made-to-order~made-ready.json")
	got, err := cloud.Workflows(folder(t, files))
	require.NoError(t, err)
	require.Equal(t, []string{"made-to-order"}, slices.Collect(maps.Keys(got)))
	require.Equal(t, "made-to-order~made-ready", got["made-to-order"].Steps[0].Each.Child.Name)
	delete(files, "made-to-order~made-ready.json")
	_, err = cloud.Workflows(folder(t, files))
	require.ErrorContains(t, err, "made-to-order has children of the workflow made-to-order~made-ready")
}

// Every file that is wrong is named in one error, with what to do about it.
func TestWorkflowsThatCannotBeUsed(t *testing.T) {
	_, data := order(t)
	var spaced bytes.Buffer
	require.NoError(t, json.Indent(&spaced, data, "", "  "))
	newline := append(bytes.Clone(data), '\n')
	newer := bytes.Replace(data, []byte(`"schema":1`), []byte(`"schema":9`), 1)
	unknown := append([]byte(`{"later":true,`), data[1:]...)
	for name, c := range map[string]struct {
		files map[string][]byte
		want  []string
	}{
		"none": {nil, []string{"no compiled workflow", "deploy again"}},
		"spaces": {
			map[string][]byte{"order.json": spaced.Bytes()},
			[]string{
				"order.json", "not in the form that it is compiled to", workflow.Hash(spaced.Bytes()),
				workflow.Hash(data), "deploy again",
			},
		},
		"an end of line":    {map[string][]byte{"order.json": newline}, []string{"not in the form"}},
		"a field not known": {map[string][]byte{"order.json": unknown}, []string{"not in the form"}},
		"a newer schema":    {map[string][]byte{"order.json": newer}, []string{"newer schema"}},
		"twice, and a torn one": {
			map[string][]byte{"a.json": data, "b.json": data, "c.json": data[:40]},
			[]string{"b.json: workflow order is in", "a.json already", "c.json: definition"},
		},
	} {
		_, err := cloud.Workflows(folder(t, c.files))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			require.ErrorContains(t, err, want, "%v", name)
		}
	}
	unreadable := folder(t, map[string][]byte{"order.json": data})
	require.NoError(t, os.Mkdir(filepath.Join(unreadable, "folder.json"), 0o700))
	if _, err := cloud.Workflows(unreadable); err == nil || !strings.Contains(err.Error(), "folder.json") ||
		!strings.Contains(err.Error(), "deploy again") {
		t.Errorf("a file that cannot be read: %v", err)
	}
	_, err := cloud.Workflows(folder(t, map[string][]byte{"order.json": newer}))
	require.ErrorIs(t, err, workflow.ErrNewer)
}

// open is the engine of a deployment with more settings, which writes its metrics to out.
func open(t *testing.T, out io.Writer, current map[string]*core.Definition, more map[string]string,
) (*awsstub.Stub, engine.Parts, *cloud.Metrics) {
	t.Helper()
	d := cloudtest.New(t)
	d.Settings[deployment.VarTaskTTL] = "720h"
	d.Settings[deployment.VarReplyTo] = strings.Replace(d.Queues("shop"), "{",
		`{"events":"arn:aws:events:eu-west-3:111122223333:event-bus/shop",`, 1)
	maps.Copy(d.Settings, more)
	settings, err := deployment.ReadScheduler(d.Lookup)
	c, errClient := wire.Environment(d.Lookup)
	require.NoError(t, errors.Join(err, errClient))
	f := cloud.Open(c, d.Lookup, settings.Engine, current, out, slog.New(slog.NewTextHandler(out, nil)))
	return d.Stub, f.Parts, f.Metrics
}

// What is put together uses the deployment's own tables, queues and topic, and makes no calls before
// there is work (rule 13).
func TestOpen(t *testing.T) {
	d, _ := order(t)
	s, engine, _ := open(t, io.Discard, map[string]*core.Definition{d.Name: d}, nil)
	require.Empty(t, s.Calls())
	ctx := context.Background()
	if got, err := engine.State.Current(ctx, d.Name); err != nil || got != d {
		t.Errorf("the definition of new orders is %v, %v", got, err)
	}
	_, err := engine.State.Current(ctx, "other")
	require.ErrorContains(t, err, `no workflow "other" is deployed`)
	q, err := engine.Queues.Queue(port.Requests("payment"))
	require.NoError(t, err)
	require.NoError(t, q.Send(ctx, []port.Message{{Body: []byte("{}")}})[0])
	require.NoError(t, engine.Alerts.Raise(ctx, core.RaiseAlert{OrderID: "o-1"}))
	engine.Alerts.(*cloud.Alerts).Wait(ctx)
	held, err := engine.Leases.Acquire(ctx, "3", "me", engine.Clock.Now(), time.Minute)
	require.NoError(t, err)
	require.True(t, held)
	_, err = engine.State.Port().Content(ctx, "o-1", "h")
	require.ErrorIs(t, err, port.ErrNotFound)
	got := strings.Join(s.Calls(), ", ")
	const want = "GetItem definitions, GetItem orders, GetItem orders, GetItem orders, GetItem orders, GetItem orders, " +
		"Publish arn:aws:sns:eu-central-1:1:alerts, PutItem definitions, PutItem orders, PutItem orders, " +
		"SendMessageBatch requests-payment"
	require.Equal(t, want, got)
}

// P26: the tombstone of an order whose task holds the content has the hash of that content.
func TestTombstoneHasTheHashOfTheContent(t *testing.T) {
	s, engine, _ := open(t, io.Discard, nil, nil)
	s.Keep("orders", "OrderID")
	task := protocol.Task{
		OrderID: "o-1", Version: 1, Workflow: "order", Order: []byte(`{"a":1}`),
		ProcessState: core.Processing, Created: 1, Due: 2,
	}
	rested := task
	rested.Version = 2
	rested.ProcessState = core.Processed
	rested.Due = 0
	for _, next := range []*protocol.Task{&task, &rested} {
		require.NoError(t, engine.State.Commit(context.Background(), []state.Change{{Task: next}})[0])
	}
	got, want := s.Item("orders", "o-1#ended")["ContentHash"]["S"], state.HashOf(&task)
	require.Equal(t, want, got)
}

// An alert leads to the log in the console of the Region's partition, where Lambda says which log it is.
func TestLinkToTheLog(t *testing.T) {
	for region, domain := range map[string]string{
		"eu-central-1": "console.aws.amazon.com",
		"cn-north-1":   "console.amazonaws.cn", "us-gov-west-1": "console.amazonaws-us-gov.com",
		"eusc-de-east-1": "console.amazonaws-eusc.eu", "us-iso-east-1": "",
	} {
		for group, link := range map[string]string{"": "", "g": "https://" + region + "." + domain +
			"/cloudwatch/home?region=" + region +
			"#logsV2:log-groups/log-group/g/log-events$3FfilterPattern$3D$2522o-1$2522"} {
			if domain == "" {
				link = ""
			}
			s, engine, _ := open(t, io.Discard, nil, map[string]string{
				"AWS_REGION": region, "AWS_LAMBDA_LOG_GROUP_NAME": group,
			})
			require.NoError(t, engine.Alerts.Raise(t.Context(), core.RaiseAlert{OrderID: "o-1"}))
			engine.Alerts.(*cloud.Alerts).Wait(t.Context())
			var byProtocol struct{ Default string }
			var alert message.Alert
			require.NoError(t, json.Unmarshal([]byte(s.Published()[0]), &byProtocol))
			require.NoError(t, json.Unmarshal([]byte(byProtocol.Default), &alert))
			require.Equal(t, link, alert.Logs, "%v %v", region, group)
		}
	}
}

// An order can name the queues of the list, and none of the deployment's own.
func TestQueues(t *testing.T) {
	s, engine, _ := open(t, io.Discard, nil, nil)
	if q, err := engine.Queues.ReplyTo("shop"); err != nil || q.Name() != "shop" {
		t.Errorf("%v, %v", q, err)
	}
	if q, err := engine.Queues.ReplyTo(core.Events); err != nil || q.Name() != core.Events {
		t.Errorf("%v, %v", q, err)
	} else if err := q.Send(t.Context(), []port.Message{{Value: &message.Status{
		Schema: message.Schema,
		Status: core.Status{Kind: core.StatusFailed, OrderID: "o-1"},
	}}})[0]; !errors.Is(err,
		port.ErrUnavailable) || strings.Join(s.Calls(), ", ") != "PutEvents" {
		t.Errorf("calls %q, and a response for no event is %v", s.Calls(), err)
	}
	_, err := engine.Queues.Queue(core.Events)
	require.ErrorIs(t, err, port.ErrNotFound)
	for _, name := range []string{port.Control, "http://127.0.0.1/1/other", ""} {
		_, err := engine.Queues.ReplyTo(name)
		require.ErrorIs(t, err, port.ErrNotFound, name)
	}
	_, err = engine.Queues.Queue(port.Requests("other"))
	require.ErrorIs(t, err, port.ErrNotFound)
}
