package deployment

import (
	"slices"
	"strings"
)

// Peer is an agent as the engine knows it.
type Peer struct {
	Name    string
	Queue   string   // of its requests: the URL, or the name of a queue beside intake, perhaps begun by Start
	Senders []string // IDs of the roles that it replies with; empty: its replies are not checked
}

// Start stands for what the names of all agents' queues begin with. No name of a queue holds it.
const Start = "~"

// Peers is the value of VarAgents: "~=START,payment=QUEUE=ROLE+ROLE,shipping=QUEUE". Each name of an agent
// stands there once, and what all queues begin with too: 20 agents fit beside all else into the 4,096 bytes.
func Peers(start string, peers []Peer) string {
	entries := []string{Start + "=" + start}
	for _, p := range peers {
		fields := []string{p.Name, p.Queue}
		if len(p.Senders) > 0 {
			fields = append(fields, strings.Join(p.Senders, "+"))
		}
		entries = append(entries, strings.Join(fields, "="))
	}
	return strings.Join(entries, ",")
}

// peers reads VarAgents, which may be absent.
func (r *reader) peers() (found []Peer) {
	text := r.optional(VarAgents)
	if text == "" {
		return nil
	}
	start := ""
	for entry := range strings.SplitSeq(text, ",") {
		fields := strings.Split(strings.TrimSpace(entry), "=")
		twice := slices.ContainsFunc(found, func(p Peer) bool { return p.Name == fields[0] })
		switch {
		case len(fields) == 2 && fields[0] == Start:
			start = fields[1]
		case len(fields) < 2 || len(fields) > 3 || fields[0] == "" || twice:
			r.wrong(VarAgents, "has the entry %.100q; NAME=QUEUE or NAME=QUEUE=ROLE+ROLE is meant, each name once", entry)
		default:
			p := Peer{Name: fields[0], Queue: fields[1]}
			p.Queue = strings.ReplaceAll(p.Queue, Start, start)
			if len(fields) == 3 {
				p.Senders = strings.Split(fields[2], "+")
			}
			found = append(found, p)
		}
	}
	return found
}
