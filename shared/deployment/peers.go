package deployment

import (
	"slices"
	"strings"
)

// Peer is an agent in the engine's settings.
type Peer struct {
	Name string
	// queue of its requests: a URL, or the name of a queue in the same account and Region as intake; the name
	// may contain Start
	Queue   string
	Senders []string // IDs of the roles that the agent replies with; if empty, its replies are not checked
	// queue of its requests of high priority, in the form of Queue; "" if there is none (P46, priority
	// changes the order of requests only)
	High string
}

// Start stands for the common prefix of the agents' queues. The name of a queue cannot contain this
// character.
const Start = "~"

// Peers returns the value of VarAgents: "~=START,payment=QUEUE=ROLE+ROLE=HIGH,shipping=QUEUE". It contains
// each agent's name and the common prefix of the queues only once, because all variables of a function must
// fit into 4,096 bytes, even with 20 agents.
func Peers(start string, peers []Peer) string {
	entries := []string{Start + "=" + start}
	for _, p := range peers {
		fields := strings.Join([]string{p.Name, p.Queue, strings.Join(p.Senders, "+"), p.High}, "=")
		entries = append(entries, strings.TrimRight(fields, "="))
	}
	return strings.Join(entries, ",")
}

// peers reads VarAgents, which may be absent.
func (r *reader) peers() (found []Peer) {
	text := r.optional(VarAgents)
	if text == "" {
		return nil
	}
	var start string
	for entry := range strings.SplitSeq(text, ",") {
		fields := strings.Split(strings.TrimSpace(entry), "=")
		twice := slices.ContainsFunc(found, func(p Peer) bool { return p.Name == fields[0] })
		switch {
		case len(fields) == 2 && fields[0] == Start:
			start = fields[1]
		case len(fields) < 2 || len(fields) > 4 || fields[0] == "" || twice:
			r.wrong(VarAgents, "has the entry %.100q; it must be NAME=QUEUE, NAME=QUEUE=ROLE+ROLE or "+
				"NAME=QUEUE=ROLE+ROLE=QUEUE, each name once", entry)
		default:
			fields = append(fields, "", "")
			p := Peer{Name: fields[0], Queue: strings.ReplaceAll(fields[1], Start, start),
				High: strings.ReplaceAll(fields[3], Start, start)}
			if fields[2] != "" {
				p.Senders = strings.Split(fields[2], "+")
			}
			found = append(found, p)
		}
	}
	return found
}
