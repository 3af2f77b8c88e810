package pmcdconf

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// A Kind is how a collector reaches an agent.
type Kind int

// The kinds of agents, as the metric pmcd.agent.type shows them.
const (
	KindDSO    Kind = iota // in the collector's process
	KindSocket             // over a socket on which the agent listens
	KindPipe               // as a child process, over its standard input and output
)

// String returns the word that configuration files have for the kind.
func (k Kind) String() string {
	switch k {
	case KindDSO:
		return "dso"
	case KindSocket:
		return "socket"
	case KindPipe:
		return "pipe"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// An Agent is the line of a configuration file for an agent, in one of the forms
//
//	NAME DOMAIN dso    ENTRY PATH
//	NAME DOMAIN socket inet|ipv6|unix ADDRESS [ARGV...]
//	NAME DOMAIN pipe   binary [notready] ARGV...
type Agent struct {
	Name   string
	Domain pdu.Domain
	Kind   Kind

	Entry string // of KindDSO: the entry point, "simple_init"
	Path  string // of KindDSO: the absolute path of the shared object

	Network string // of KindSocket: "inet", "ipv6" or "unix"
	Address string // of KindSocket: the port on this host, by number or name, or the path
	Port    int    // of "inet" and "ipv6": the number of the port

	NotReady bool     // of KindPipe: no request may be sent before the agent says that it is ready
	Argv     []string // the command that starts it; a socket agent may have none

	Line int // in the file, from 1
}

// String returns the line for a configuration file. Parse makes the same Agent of it.
func (a Agent) String() string {
	words := []string{a.Name, strconv.Itoa(int(a.Domain)), a.Kind.String()}
	switch a.Kind {
	case KindDSO:
		words = append(words, a.Entry, a.Path)
	case KindSocket:
		words = append(words, a.Network, a.Address)
	case KindPipe:
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
		b.WriteByte(' ') // or the next line would continue this one
	}
	return b.String()
}
