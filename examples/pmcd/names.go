package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A nameFile is a PMNS file.
type nameFile struct {
	path   string // empty for that of PCP
	varDir string // PCP_VAR_DIR, which pcp.conf may say alone
	loader pmns.Loader
	read   fileVersion // the file when it was read
}

// load reads the file. Without a path it reads PCP's name space, but only if wanted.
func (n *nameFile) load(wanted bool) (*pmns.Tree, error) {
	if n.path == "" && !wanted {
		return nil, nil
	}
	n.read = versionOf(n.file())
	tree, err := n.loader.Load(n.file())
	if err != nil {
		return nil, fmt.Errorf("cannot load the name space: %w\nmend it, or name another with -n", err)
	}
	return tree, nil
}

// pmcdError returns the two texts of pmcd about an error of load: the parser's message, and its
// consequence.
func (n *nameFile) pmcdError(err error) (text, failure string) {
	reason := error(pdu.ErrPMNS)
	text = strings.TrimRight(cmp.Or(errors.Unwrap(err), err).Error(), "\n")
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		reason, text = pdu.FromError(path.Err), fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open %q", n.file())
	}
	duplicates := 1
	if n.loader.Unique {
		duplicates = 0
	}
	return text, fmt.Sprintf("pmLoadASCIINameSpace(%s, %d): %v", cmp.Or(n.path, "DEFAULT"), duplicates, reason)
}

func (n *nameFile) file() string {
	if n.path != "" {
		return n.path
	}
	return cmp.Or(os.Getenv("PMNS_DEFAULT"), filepath.Join(n.varDir, "pmns", "root"))
}

// reload is load if the file has changed; else it returns nil.
func (n *nameFile) reload(wanted bool) (*pmns.Tree, error) {
	if n.path == "" && !wanted {
		return nil, nil
	}
	if n.read.FileInfo != nil && n.read.same(versionOf(n.file())) {
		return nil, nil
	}
	return n.load(wanted)
}

// An agentTable has the agents in this program by the names of their initialisation routines.
type agentTable = map[string]func(pdu.Domain) (pmda.Handler, error)

// An unnamed agent has the names alone that a file gives it.
type unnamed struct{ pmda.Handler }

func (u unnamed) Namespace() *pmns.Tree { return nil }
func (u unnamed) Unwrap() pmda.Handler  { return u.Handler }

// namedBy makes the agents of "dso" lines unnamed, as they are in pmcd. It warns of agents that the
// name space leaves without a name.
func namedBy(names *pmns.Tree, agents agentTable, log *slog.Logger) agentTable {
	named := map[pdu.Domain]bool{}
	for _, id := range names.All() {
		domain, isRoot := id.IsDynamicRoot()
		if !isRoot {
			domain = id.Domain()
		}
		named[domain] = true
	}
	for entry, start := range agents {
		agents[entry] = func(domain pdu.Domain) (pmda.Handler, error) {
			h, err := start(domain)
			if err != nil {
				return nil, err
			}
			if !named[domain] {
				log.Warn("the file of -n has no metric of this agent; add its names to see it", "entry", entry, "domain", domain)
			}
			return unnamed{h}, nil
		}
	}
	return agents
}
