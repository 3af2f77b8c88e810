package pmcdconf

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// An Agent is the line of a configuration file for an agent, in one of the forms
//
//	NAME DOMAIN dso    ENTRY PATH
//	NAME DOMAIN socket inet|ipv6|unix ADDRESS [ARGV...]
//	NAME DOMAIN pipe   binary [notready] ARGV...
type Agent struct {
	Name   string
	Domain pdu.Domain
	Kind   string // "dso": in the collector; "socket": listens on a socket; "pipe": a child process

	Entry string // of "dso": the entry point, "simple_init"
	Path  string // of "dso": the absolute path of the shared object

	Network string // of "socket": "inet", "ipv6" or "unix"
	Address string // of "socket": the port on this host, by number or name, or the path
	Port    int    // of "inet" and "ipv6": the number of the port

	NotReady bool     // of "pipe": the agent gets no request before it reports that it is ready
	Argv     []string // the command that starts it; a socket agent may have none

	Line int // in the file, from 1
}

// String returns the line for a configuration file. Parse returns the same Agent for it, apart from
// Line.
func (a Agent) String() string {
	words := []string{a.Name, strconv.Itoa(int(a.Domain)), a.Kind}
	switch a.Kind {
	case "dso":
		words = append(words, a.Entry, a.Path)
	case "socket":
		words = append(words, a.Network, a.Address)
	case "pipe":
		words = append(words, "binary")
		if a.NotReady {
			words = append(words, "notready")
		}
	}
	var b strings.Builder
	for _, w := range append(words, a.Argv...) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoteWord(w))
	}
	if s := b.String(); strings.HasSuffix(s, `\`) {
		b.WriteByte(' ') // otherwise the next line would continue this one
	}
	return b.String()
}
