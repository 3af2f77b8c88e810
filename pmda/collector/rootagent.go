package collector

import (
	"context"
	"log/slog"
	"os"

	"github.com/pcp-go/pcp/internal/pmdaroot"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// rootDomain is the domain of pmdaroot.
const rootDomain pdu.Domain = 1

// connectRootAgent connects to pmdaroot, which has just started as an agent. The process must still
// have root's privileges. There are two connections, so that agents can start while a request for a
// container is pending.
func (s *Server) connectRootAgent() {
	if s.RootSocket == "" || !s.isRoot() {
		return
	}
	r, err := dialRootAgent(s.RootSocket)
	if err != nil {
		s.log.Warn("agents will have root's privileges only if they are started now", slog.Any("err", err))
		return
	}
	if old := s.rootAgent.Swap(r); old != nil {
		old.close()
	}
	containers := pmdaroot.NewClient(s.RootSocket)
	if err := containers.Connect(context.Background()); err != nil {
		s.log.Warn("the names of containers as hosts will not be known", slog.Any("err", err))
	}
	if old := s.containers.Swap(containers); old != nil {
		old.Close()
	}
}

// closeRootAgent closes the connections to pmdaroot.
func (s *Server) closeRootAgent() {
	if r := s.rootAgent.Swap(nil); r != nil {
		r.close()
	}
	if c := s.containers.Swap(nil); c != nil {
		c.Close()
	}
}

// rootAgentFor returns the connection to pmdaroot if it must start the agent, because the process
// has given up root's privileges. Otherwise it returns nil.
func (s *Server) rootAgentFor(a *agent) *rootAgent {
	if a.domain() == rootDomain || s.isRoot() {
		return nil
	}
	return s.rootAgent.Load()
}

// RunAsRoot has pmdaroot run a command with root's privileges, for a program that has given them
// up. The Server must have connected to the pmdaroot at RootSocket before. Pmdaroot gets name as
// the command's label. Arguments must not be empty or contain blanks. Errors: [pdu.ErrNotConn]
// without a connection, others of pmdaroot.
//
// In and out are pipes to the command's standard input and from its standard output. Its standard
// error is pmdaroot's log. The caller closes the files and need not wait for the process.
func (s *Server) RunAsRoot(name string, argv ...string) (in, out *os.File, err error) {
	s.init()
	r := s.rootAgent.Load()
	if r == nil {
		return nil, nil, opError("run as root", name, pdu.ErrNotConn)
	}
	child, in, out, err := r.startPipe(name, argv)
	if err != nil {
		return nil, nil, opError("run as root", name, err)
	}
	child.forget()
	return in, out, nil
}

// killRootAgent kills pmdaroot before it can remove its socket. If the process has given up root's
// privileges, pmdaroot must kill itself.
func (s *Server) killRootAgent(p *process) {
	if p.cmd.Process.Kill() == nil {
		return
	}
	if r := s.rootAgent.Load(); r != nil {
		r.signal(p.cmd.Process.Pid, true) // there is no reply
	}
}

// pipeByRoot is like pipe for a process that pmdaroot starts.
func (p *process) pipeByRoot(r *rootAgent, a *agent) (remote.Stream, error) {
	child, toAgent, fromAgent, err := r.startPipe(a.conf.Name, a.argv)
	if err != nil {
		return nil, err
	}
	p.byRoot, p.exited = child, child.exited
	return newPipes(fromAgent, toAgent), nil
}
