package deployment

import (
	"slices"
	"strings"
)

// Peer describes an agent in the settings of the Scheduler and the Supervisor.
type Peer struct {
	Name string
	// Queue is the URL or the name of the request queue. A name may contain Start instead of the common
	// prefix. A queue given by name belongs to the account and Region of the intake queue.
	Queue   string
	Senders []string // IDs of the roles that may send the agent's replies; empty means any role
	// High is the URL or the name of the request queue for high priority. A name has the same form as in
	// Queue. High is "" if the agent has only one request queue (P46, priority changes the order of requests
	// only).
	High string
}

// Start stands for the common prefix of the agents' queue names. SQS does not allow "~" in such a name.
const Start = "~"

// Peers returns the value of VarAgents, such as "~=START,payment=QUEUE=ROLE+ROLE=HIGH,shipping=QUEUE". The
// argument start is the common prefix of the queue names. The caller has already replaced this prefix in the
// queue names by Start. The value must be short, because all variables of a function together must not exceed
// 4,096 bytes.
func Peers(start string, peers []Peer) string {
	entries := []string{Start + "=" + start}
	for _, p := range peers {
		fields := strings.Join([]string{p.Name, p.Queue, strings.Join(p.Senders, "+"), p.High}, "=")
		entries = append(entries, strings.TrimRight(fields, "="))
	}
	return strings.Join(entries, ",")
}

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
			p := Peer{
				Name: fields[0], Queue: strings.ReplaceAll(fields[1], Start, start),
				High: strings.ReplaceAll(fields[3], Start, start),
			}
			if fields[2] != "" {
				p.Senders = strings.Split(fields[2], "+")
			}
			found = append(found, p)
		}
	}
	return found
}
