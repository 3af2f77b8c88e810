package collector

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
)

// WriteAgents writes an empty line and a table of the connected agents, in the layout of pmcd's
// log. An agent of a "dso" line in this process has the row of that shared object without its
// address. Other agents in this process have the word "in-process". The process identifier of a
// socket agent that the Server has not started is -1. The error is that of w.
func (s *Server) WriteAgents(w io.Writer) error {
	s.init()
	var b bytes.Buffer
	b.WriteString("\nactive agent dom   pid  in out ver protocol parameters\n")
	b.WriteString("============ === ===== === === === ======== ==========\n")
	for _, a := range s.agents.Load().list {
		p := a.remote.Load()
		switch {
		case a.local != nil:
			fmt.Fprintf(&b, "%-12s %3d %5s %3s %3s %3d dso %s\n", a.name(), a.domain(), "", "", "", pdu.ProtocolVersion, s.objectOf(a))
		case p != nil:
			fmt.Fprintf(&b, "%-12s %3d %5d %3d %3d %3d bin %s\n", a.name(), a.domain(), p.childPID(), p.in, p.out, pdu.ProtocolVersion, a.parameters())
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// objectOf returns the shared object that an agent in this process replaces, and its interface.
func (s *Server) objectOf(a *agent) string {
	conf, version := &a.conf, 7
	if a.domain() == pmcdagent.Domain {
		version = 6 // without labels of its own
		if conf = s.pmcdLine.Load(); conf == nil {
			conf = &a.conf
		}
	}
	if conf.Entry == "" {
		return "in-process"
	}
	return fmt.Sprintf("i:%d  lib=%s entry=%s", version, conf.Path, conf.Entry)
}

// childPID returns the process identifier, -1 for a socket agent that was already running.
func (p *process) childPID() int {
	if p.cmd == nil && p.byRoot == nil {
		return -1
	}
	return p.pid()
}

// parameters describes the connection and the command of an agent in another process.
func (a *agent) parameters() string {
	command := ""
	if len(a.argv) > 0 {
		command = " cmd=" + strings.Join(a.argv, " ")
	}
	if a.kind == "pipe" {
		return "pipe" + command
	}
	port := a.conf.Address
	if n := strconv.Itoa(a.conf.Port); a.conf.Network != "unix" && port != n {
		port += " (" + n + ")"
	}
	return "sock dom=" + a.conf.Network + " port=" + port + command
}
