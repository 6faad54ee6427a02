package httpagent

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	classDone      = "done"      // the operation has happened, and the body is the output, as with 2xx
	classPermanent = "permanent" // no repetition can succeed: the step fails for good
	classTransient = "transient" // a repetition may succeed, and the failure counts
	// The step calls again later, and the failure does not count (P45, "not now" is not a failure).
	classNotYet = "not-yet"
)

var classes = []string{classDone, classPermanent, classTransient, classNotYet}

// Classify maps a status of a service to a class, for example "409" to "done". It takes precedence over the table in
// response.go. It does not change whether a status proves that the call had no effect (P31, a plain service needs a
// ledger).
type Classify map[string]string

func (c Classify) problems() (p problems) {
	for _, status := range slices.Sorted(maps.Keys(c)) {
		name := c[status]
		n, err := strconv.Atoi(status)
		switch {
		case err != nil || len(status) != 3 || n < 100 || n > 599:
			p.add("classify: %.20q is no status; write one from 300 to 599, as 409: done", status)
		case n/100 == 2:
			p.add("classify: status %s says that the operation was done, and cannot mean %.20q; leave "+
				"it out, and let the service answer 3xx, 4xx or 5xx where it was not", status, name)
		case n < 300:
			p.add("classify: status %s is no final answer; write one from 300 to 599", status)
		}
		// The class not-yet repeats calls without counting failures, so the status must prove that the call
		// had no effect.
		if name == classNotYet && n >= 300 && n < 600 && !classOf(n).noEffect {
			p.add("classify: status %s does not prove that nothing was done, and cannot mean not-yet; "+
				"let the service answer a 4xx such as 404, 409 or 425", status)
		}
		if !slices.Contains(classes, name) {
			p.add("classify: status %.20s has the unknown class %.40q; write one of %s", status, name,
				strings.Join(classes, ", "))
		}
	}
	return p
}

// Over returns all entries of c, and the entries of agent for other statuses. c belongs to one
// operation, and agent applies to all operations.
func (c Classify) Over(agent Classify) Classify {
	all := maps.Clone(agent)
	if all == nil {
		return c
	}
	maps.Copy(all, c)
	return all
}

func (c Classify) done(status int) bool {
	return status/100 == 2 || c[strconv.Itoa(status)] == classDone
}

// of returns the class of a status that does not mean done. named reports whether c names the class.
// Otherwise the class comes from the table in response.go.
func (c Classify) of(status int) (found class, named bool) {
	found = classOf(status)
	name, named := c[strconv.Itoa(status)]
	if named {
		found.permanent = name == classPermanent
		found.text = "which the agents file classifies as " + name
	}
	return found, named
}
