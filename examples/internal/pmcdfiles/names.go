package pmcdfiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pmcdlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// LoadNames reads the name space. It returns nil without a file.
func (f *Files) LoadNames() (*pmns.Tree, error) {
	tree, err := f.loadNames()
	if err != nil && f.Installed {
		text, failure := f.namesError(err)
		err = pmcdlog.PlainError(text + "\nError: " + failure)
	}
	return tree, err
}

func (f *Files) hasNames() bool { return f.Names != "" || f.Config != "" }

// loadNames is LoadNames without pmcd's texts of errors.
func (f *Files) loadNames() (*pmns.Tree, error) {
	if !f.hasNames() {
		return nil, nil
	}
	f.namesRead = versionOf(f.namesPath())
	loader := pmns.Loader{Unique: f.Unique}
	tree, err := loader.Load(f.namesPath())
	if err != nil {
		return nil, fmt.Errorf("cannot load the name space: %w\nmend it, or name another with -n", err)
	}
	return tree, nil
}

// namesError returns the two texts of pmcd about an error of loadNames: the parser's message, and
// its consequence.
func (f *Files) namesError(err error) (text, failure string) {
	reason := error(pdu.ErrPMNS)
	text = strings.TrimRight(cmp.Or(errors.Unwrap(err), err).Error(), "\n")
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		reason, text = pdu.FromError(path.Err), fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open %q", f.namesPath())
	}
	duplicates := 1
	if f.Unique {
		duplicates = 0
	}
	return text, fmt.Sprintf("pmLoadASCIINameSpace(%s, %d): %v", cmp.Or(f.Names, "DEFAULT"), duplicates, reason)
}

func (f *Files) namesPath() string {
	return cmp.Or(f.Names, os.Getenv("PMNS_DEFAULT"), filepath.Join(f.Conf.Get("PCP_VAR_DIR"), "pmns", "root"))
}

// loadChangedNames is loadNames if the file has changed; otherwise it returns nil.
func (f *Files) loadChangedNames() (*pmns.Tree, error) {
	if f.hasNames() && f.namesRead.FileInfo != nil && f.namesRead.same(versionOf(f.namesPath())) {
		return nil, nil
	}
	return f.loadNames()
}

// An agentTable has the agents in this program by the names of their initialisation routines.
type agentTable = map[string]func(pdu.Domain) (pmda.Handler, error)

// An unnamed agent has the names alone that a file gives it.
type unnamed struct{ pmda.Handler }

func (u unnamed) Namespace() *pmns.Tree { return nil }
func (u unnamed) Unwrap() pmda.Handler  { return u.Handler }

// NamedBy makes the agents of "dso" lines unnamed, as they are in pmcd. It warns of agents that the
// name space leaves without a name.
func NamedBy(names *pmns.Tree, agents agentTable, log *slog.Logger) agentTable {
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
