// Package asciipmns loads a name space for tools. Its errors have the texts of
// pmLoadASCIINameSpace(3).
package asciipmns

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Names is a name space and the names that libpcp adds to every name space.
type Names struct{ tree *pmns.Tree }

// added are the metrics of event records.
var added = []struct {
	name string
	id   pdu.PMID
}{{pdu.EventFlagsName, pdu.EventFlagsPMID}, {pdu.EventMissedName, pdu.EventMissedPMID}}

// Lookup finds the metric of a name.
func (n *Names) Lookup(name string) (pdu.PMID, error) {
	id, err := n.tree.Lookup(name)
	for _, a := range added {
		if err != nil && name == a.name {
			return a.id, nil
		}
	}
	return id, err
}

// Of returns the names of a metric, the last one of the name space first. A dynamic root has no
// names.
func (n *Names) Of(id pdu.PMID) []string {
	for _, a := range added {
		if id == a.id {
			return []string{a.name}
		}
	}
	return n.tree.Names(id)
}

// Traverse returns the names of all metrics at or below a name. "" is the root.
func (n *Names) Traverse(at string) ([]string, error) {
	var names []string
	metrics, err := n.tree.Traverse(at)
	if err == nil {
		for name := range metrics {
			names = append(names, name)
		}
	}
	for _, a := range added {
		if at == "" || at == a.name || strings.HasPrefix(a.name, at+".") {
			names, err = append(names, a.name), nil
		}
	}
	return names, err
}

// Load loads the name space that option -n of a tool names, or the installed one if given is false.
// The error has two lines. The second begins with prefix.
func Load(file string, given bool, prefix string) (*Names, error) {
	var tree *pmns.Tree
	err := error(fs.ErrNotExist) // of an empty name
	if !given || file != "" {
		tree, err = pmns.Load(file)
	}
	if err == nil {
		return &Names{tree}, nil
	}
	shown, report := file, ""
	if !given {
		shown, file = "(null)", pmns.DefaultFile()
	}
	if p, ok := errors.AsType[*pmns.ParseError](err); ok {
		report = p.Error()
	} else {
		report = fmt.Sprintf("Error Parsing ASCII PMNS: Cannot open \"%s\"", file)
	}
	return nil, fmt.Errorf("%s\n%spmLoadASCIINameSpace(%s, 1): %w", report, prefix, shown, pdu.FromError(err))
}
