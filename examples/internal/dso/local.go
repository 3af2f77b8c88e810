package dso

import (
	"log/slog"
	"os"
	"sync"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmns"
)

// Local returns the agents of a tool's local contexts: the agents of pmcd's configuration that this
// package has. They log to standard error, as shared objects do.
func Local(name string) pcptool.LocalAgents {
	return &localAgents{name: name, table: sync.OnceValues(newTable)}
}

// localAgents reads the configuration when it is needed, because most tools do not use local
// contexts.
type localAgents struct {
	name  string
	table func() (*localTable, error)
}

// A localTable is the agents and the rest of the configuration.
type localTable struct {
	Table
	labels collector.ContextLabels
}

func newTable() (*localTable, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return nil, err
	}
	return &localTable{
		Table:  Table{Conf: conf.Get("PCP_PMCDCONF_PATH"), Dir: conf.Get("PCP_PMDAS_DIR"), Make: Agents(conf), Warnings: os.Stderr},
		labels: collector.SystemLabels(conf.Get("PCP_SYSCONF_DIR")),
	}, nil
}

func (l *localAgents) Edit(spec string) error {
	t, err := l.table()
	if err != nil {
		return err
	}
	return t.Edit(spec)
}

func (l *localAgents) Open(names func() (*pmns.Tree, error), derived *pmapi.Derived) (*pmapi.Context, error) {
	t, err := l.table()
	if err != nil {
		return nil, err
	}
	handlers, err := t.Handlers()
	if err != nil {
		return nil, err
	}
	a := &local.Agents{Handlers: handlers, Names: names, Derived: derived, Labels: t.labels,
		Logger: pmlog.New(os.Stderr, l.name, slog.LevelWarn)}
	return a.Open()
}
