package pcptool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// MetricSpec parses an operand that names a metric, and perhaps a source and instances:
// "web1:kernel.all.load[1,5]". An operand without a source gets that of the options; one with a
// source of another kind is an error. The error is an *ExitError; it wraps errors.ErrUnsupported
// for the local context of "@:metric" of a tool without Local. The counterpart of
// pmParseMetricSpec(3).
func (c *Command) MetricSpec(operand string) (pmapi.MetricSpec, error) {
	kind, name := c.Source()
	spec, err := pmapi.ParseMetricSpec(operand, kind, name)
	switch {
	case err != nil:
		return spec, c.UsageErrorf("%v\n", SyntaxError(err))
	case spec.Kind == pmapi.SourceHost && len(c.given.archives) > 0, spec.Kind == pmapi.SourceArchive && len(c.given.hosts) > 0:
		return spec, c.UsageErrorf("%s: %v\n", c.Name, errSources)
	case spec.Kind != pmapi.SourceArchive && (c.given.start != nil || c.given.align != nil):
		return spec, c.UsageErrorf("%s: %v\n", c.Name, errWindow)
	case kind == pmapi.SourceLocal: // which the operand's does not replace
		spec.Kind, spec.Source = kind, name
	case spec.Kind == pmapi.SourceLocal && c.Local == nil:
		return spec, c.unsupportedError("local contexts")
	}
	return spec, nil
}

// SplitInstances splits the argument of pmval's -i into names of instances. Blanks and commas
// separate names; one that has them itself is in single or double quotes; the byte after the
// closing quote is skipped, as in pmval.
func SplitInstances(list string) (names []string) {
	const separators = scan.Blanks + ","
	for list = strings.TrimLeft(list, separators); list != ""; list = strings.TrimLeft(list, separators) {
		var name string
		if quote := list[0]; quote == '"' || quote == '\'' {
			name, list, _ = strings.Cut(list[1:], string(quote))
			list = list[min(1, len(list)):]
		} else {
			end := strings.IndexAny(list, separators)
			if end < 0 {
				end = len(list)
			}
			name, list = list[:end], list[end:]
		}
		names = append(names, name)
	}
	return names
}

// SelectInstances looks up instances by their names, and restricts the context's fetches to them.
// Without names it changes nothing. In an archive the instances may be of any time. The result has
// the order of names, and each instance has the name given, which may be the part of the full name
// up to its first blank.
//
// After an error the result has the instances found before: names[len(insts)] caused the error.
// Errors are pdu.ErrInst, pdu.ErrInDom, pdu.ErrInstLog, pdu.ErrInDomLog, and those of exchanges
// with the collector.
func SelectInstances(ctx context.Context, pc *pmapi.Context, d pdu.InDom, names []string) (insts []pdu.Instance, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	var ids []pdu.InstID
	find := pc.InstID
	if IsArchive(pc) {
		find = pc.InstIDEver
	}
	for _, name := range names {
		id, err := find(ctx, d, name)
		if err != nil {
			return insts, err
		}
		insts, ids = append(insts, pdu.Instance{ID: id, Name: name}), append(ids, id)
	}
	return insts, errors.Join(pc.DelProfile(d), pc.AddProfile(d, ids...))
}

// InstanceNames maps the numbers of instances to their names. A domain may have millions of
// instances, so it needs little memory in addition to them. The zero value has no names.
type InstanceNames struct {
	insts []pdu.Instance
	order []int32 // indexes of insts by number; nil if insts is in that order
}

// NewInstanceNames returns the names of instances, which must not change afterwards. Of several
// with one number the last has its name.
func NewInstanceNames(insts []pdu.Instance) InstanceNames {
	byID := func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) }
	n := InstanceNames{insts: insts}
	if slices.IsSortedFunc(insts, byID) {
		return n
	}
	n.order = make([]int32, len(insts))
	for i := range n.order {
		n.order[i] = int32(i)
	}
	slices.SortStableFunc(n.order, func(a, b int32) int { return byID(insts[a], insts[b]) })
	return n
}

// Name returns the name of an instance; ok is false if the instance is unknown.
func (n InstanceNames) Name(id pdu.InstID) (name string, ok bool) {
	after := sort.Search(len(n.insts), func(i int) bool { return n.at(i).ID > id })
	if after == 0 || n.at(after-1).ID != id {
		return "", false
	}
	return n.at(after - 1).Name, true
}

// at is the instance at an index in the order of their numbers.
func (n InstanceNames) at(i int) pdu.Instance {
	if n.order != nil {
		i = int(n.order[i])
	}
	return n.insts[i]
}
