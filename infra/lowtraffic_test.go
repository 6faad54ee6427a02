package infra_test

import (
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
)

// fires evaluates an alarm as CloudWatch does, at each minute of two days: M of the last N periods are beyond the
// threshold. The metric has the given value at each of the times, and no data otherwise.
func fires(t *testing.T, alarm map[string]any, value float64, times []time.Duration) bool {
	t.Helper()
	number := func(name string) int {
		n, is := alarm[name].(float64)
		require.True(t, is, "%s of %v", name, alarm)
		return int(n)
	}
	period := time.Minute
	if seconds, simple := alarm["Period"].(float64); simple {
		period = time.Duration(seconds) * time.Second
	}
	of := number("EvaluationPeriods")
	require.LessOrEqual(t, time.Duration(of)*period, 24*time.Hour, "CloudWatch looks at one day at most")
	if len(times) == 0 && alarm["TreatMissingData"] != "breaching" {
		return false
	}
	for now := time.Duration(of) * period; now <= 48*time.Hour; now += time.Minute {
		beyond := 0
		for i := range of {
			begin := now - time.Duration(i+1)*period
			found := false
			for _, at := range times {
				found = found || at >= begin && at < begin+period
			}
			if found && value >= alarm["Threshold"].(float64) || !found && alarm["TreatMissingData"] == "breaching" {
				beyond++
			}
		}
		if beyond >= number("DatapointsToAlarm") {
			return true
		}
	}
	return false
}

// occurrences lists n times, one after each interval. Every other one is late.
func occurrences(n int, interval, late time.Duration) (all []time.Duration) {
	for i := range n {
		all = append(all, 6*time.Hour+time.Duration(i)*interval+time.Duration(i%2)*late)
	}
	return all
}

// A function that fails for each of its few messages raises its alarm, whatever its timeout is. So does a Supervisor
// whose sweeps fail, and a task that is overdue, whatever the interval of sweeps is. A single failure does not.
func TestAlarmsFireAtLowTraffic(t *testing.T) {
	for _, sweep := range []time.Duration{time.Minute, 5 * time.Minute, time.Hour} {
		x := template(t, func(_ awscdk.Stack, p *infra.Props) {
			p.SweepInterval = sweep
			a := p.Agents["payment"]
			a.Timeout = 15 * time.Minute
			a.Window = 5 * time.Minute
			p.Agents["payment"] = a
		})
		alarms := x.of("AWS::CloudWatch::Alarm")
		queues := x.of("AWS::SQS::Queue")
		check := func(id string, interval, late time.Duration) {
			t.Helper()
			alarm := alarms[id].Properties
			require.NotNil(t, alarm, id)
			require.True(t, fires(t, alarm, 1e6, occurrences(4, interval, late)), "%+v", sweep)
			require.False(t, fires(t, alarm, 1e6, occurrences(1, interval, late)), "%+v", sweep)
		}
		for queue, function := range map[string]string{
			"Intake": "Scheduler", "RequestsInventory": "Inventory",
			"RequestsPayment": "Payment",
		} {
			again := time.Duration(queues[queue].Properties["VisibilityTimeout"].(float64)) * time.Second
			for _, kind := range []string{"Errors", "Throttles"} {
				check(function+kind+"Alarm", again, 2*time.Second)
			}
		}
		check("SupervisorErrorsAlarm", sweep, 20*time.Second)
		check("OldestOverdueAlarm", sweep, 50*time.Second)
		check("InventoryNotCalledAlarm", 15*time.Minute, 0)
		// The newest two minutes of these metrics are missing.
		check("OrdersThrottlesAlarm", 3*time.Minute, 0)
	}
}
