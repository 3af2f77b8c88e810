package sample

import (
	"context"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

const firstSecret = 1000 // the item of secret.bar

// registerSecret adds the metrics below the first dynamic root.
func (s *sample) registerSecret() {
	add(s, firstSecret, pmda.Metric[string]{Name: "secret.bar", Value: constant("foo")})
	for i, name := range secretNumbers {
		add(s, firstSecret+1+i, pmda.Metric[int32]{Name: name, Units: pdu.UnitCount, Value: constant(int32(1 + i))})
	}
}

// secretNumbers are the metrics with the values 1 and up.
var secretNumbers = [...]string{"secret.foo.one", "secret.foo.two", "secret.foo.bar.three", "secret.foo.bar.four",
	"secret.foo.bar.grunt.five", "secret.foo.bar.grunt.snort.six", "secret.foo.bar.grunt.snort.huff.puff.seven"}

// redirect is the PMID of a metric that another agent has.
var redirect = pdu.MakePMID(2, 4, 1)

// A dynamicName is the name of a metric below a dynamic root, without its first part, which in
// requests may be any.
type dynamicName struct {
	name string
	id   pdu.PMID
}

// dynamicNames returns all current dynamic names in the order of a traversal.
func (s *sample) dynamicNames() []dynamicName {
	list := []dynamicName{{"secret.foo.bar.max.redirect", redirect}, {"secret.bar", s.id(firstSecret)}}
	for i, name := range secretNumbers {
		list = append(list, dynamicName{name, s.id(firstSecret + 1 + i)})
	}
	list = append(list, dynamicName{"ghosts.visible", s.id(itemGhostsVisible)})
	if s.dynamic.ghosts.visible >= 0 {
		list = append(list, dynamicName{"ghosts.origin", s.id(itemGhostsOrigin)},
			dynamicName{"ghosts.karma", s.id(itemGhostsKarma)}, dynamicName{"ghosts.state", s.id(itemGhostsState)})
	}
	return list
}

// PMID finds the metric of a dynamic name. One that is not a leaf is unknown.
func (h handler) PMID(_ context.Context, _ *pmda.Request, name string) (pdu.PMID, error) {
	_, name, _ = strings.Cut(name, ".")
	for _, n := range h.s.dynamicNames() {
		if n.name == name {
			return n.id, nil
		}
	}
	return pdu.NoPMID, pdu.ErrName
}

// Names returns the dynamic names of a metric.
func (h handler) Names(_ context.Context, _ *pmda.Request, id pdu.PMID) (names []string, err error) {
	for _, n := range h.s.dynamicNames() {
		if n.id == id {
			names = append(names, h.s.opts.Name+"."+n.name)
		}
	}
	if names == nil {
		return nil, pdu.ErrPMID
	}
	return names, nil
}

// Children returns the names one level below a name. It returns nothing for a leaf and for an
// unknown name.
func (h handler) Children(_ context.Context, _ *pmda.Request, name string) (list []pmns.Child, err error) {
	_, name, ok := strings.Cut(name, ".")
	if !ok {
		return nil, nil
	}
	for _, n := range h.s.dynamicNames() {
		below, ok := strings.CutPrefix(n.name, name+".")
		if !ok {
			continue
		}
		child, _, more := strings.Cut(below, ".")
		if c := (pmns.Child{Name: child, Leaf: !more}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list, nil
}

// Traverse returns the names of all metrics at or below a name: none for an unknown name.
func (h handler) Traverse(_ context.Context, _ *pmda.Request, name string) (names []string, err error) {
	first, name, ok := strings.Cut(name, ".")
	if !ok {
		return nil, nil
	}
	for _, n := range h.s.dynamicNames() {
		if n.name == name || strings.HasPrefix(n.name, name+".") {
			names = append(names, first+"."+n.name)
		}
	}
	return names, nil
}
