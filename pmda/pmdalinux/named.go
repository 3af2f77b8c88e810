package pmdalinux

import (
	"bytes"
	"context"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// named are numbers of a file that stand with their names, in groups of names.
// Those that nobody has asked for by want are passed over.
type named struct {
	missing error // what a number that is not there has for an error
	groups  map[string]map[string]int
	vals    []uint64
	known   []bool
}

// want is the place that a number will have.
func (n *named) want(group, name string) (at int) {
	if n.groups == nil {
		n.groups = map[string]map[string]int{}
	}
	if n.groups[group] == nil {
		n.groups[group] = map[string]int{}
	}
	at, ok := n.groups[group][name]
	if !ok {
		at = len(n.vals)
		n.groups[group][name] = at
		n.vals, n.known = append(n.vals, 0), append(n.known, false)
	}
	return at
}

// set is for a parser that has found a number, or what should be one.
func (n *named) set(group map[string]int, name, number []byte) {
	if at, ok := group[string(name)]; ok {
		if string(name) == "MaxConn" && string(number) == "-1" {
			n.vals[at], n.known[at] = 1<<64-1, true // no limit; all others count something
			return
		}
		n.vals[at], n.known[at] = parseUint(number)
	}
}

// parseTable reads pairs of lines like
//
//	Udp: InDatagrams NoPorts
//	Udp: 1275 0
//
// Where a line has more fields than the other, nobody knows which belong together.
func (n *named) parseTable(text []byte) error {
	clear(n.known)
	for titles, rest, ok := wholeLine(text); ok; titles, rest, ok = wholeLine(rest) {
		group, titles, _ := bytes.Cut(titles, []byte(":"))
		numbers, after, ok := wholeLine(rest)
		again, numbers, _ := bytes.Cut(numbers, []byte(":"))
		if !ok || !bytes.Equal(group, again) {
			continue // one of the two is missing
		}
		rest = after
		if places := n.groups[string(group)]; places != nil {
			n.parseColumns(places, titles, numbers)
		}
	}
	return nil
}

func (n *named) parseColumns(places map[string]int, titles, numbers []byte) {
	for {
		var name, number []byte
		name, titles = cutField(titles)
		number, numbers = cutField(numbers)
		if len(name) == 0 && len(number) == 0 {
			return
		}
		if len(name) == 0 || len(number) == 0 {
			for _, at := range places {
				n.known[at] = false
			}
			return
		}
		n.set(places, name, number)
	}
}

// parsePairs reads lines like "TCP: inuse 6 orphan 0".
func (n *named) parsePairs(text []byte) error {
	clear(n.known)
	for line := range wholeLines(text) {
		group, line, _ := bytes.Cut(line, []byte(":"))
		places := n.groups[string(group)]
		for name, line := cutField(line); len(name) > 0; name, line = cutField(line) {
			var number []byte
			number, line = cutField(line)
			n.set(places, name, number)
		}
	}
	return nil
}

// parseList reads lines like "Ip6InReceives 34". They are of the group "".
func (n *named) parseList(text []byte) error {
	clear(n.known)
	places := n.groups[""]
	for line := range wholeLines(text) {
		name, line := cutField(line)
		number, line := cutField(line)
		if more, _ := cutField(line); len(more) == 0 {
			n.set(places, name, number)
		}
	}
	return nil
}

// namedMetrics are metrics that show the numbers of a group.
type namedMetrics struct {
	cluster int
	group   string
	metrics []namedMetric
}

// A namedMetric is one of them: a counter, unless unlike says other.
type namedMetric struct {
	item              int
	name, field, text string
}

// unlike are the metrics that are no counters of something.
var unlike = map[string]struct {
	sem   pdu.Sem
	units pdu.Units
	help  string
}{
	"network.tcp.rtoalgorithm": {sem: pdu.SemInstant},
	"network.tcp.rtomin":       {sem: pdu.SemInstant, units: pdu.TimeMSec},
	"network.tcp.rtomax":       {sem: pdu.SemInstant, units: pdu.TimeMSec},
	"network.tcp.maxconn":      {sem: pdu.SemInstant},
	"network.tcp.currestab":    {sem: pdu.SemInstant},
	"network.tcp.tcpmemorypressureschrono": {sem: pdu.SemCounter, units: pdu.SpaceMByte,
		help: "The units say megabytes, as those of the C agent do."},
}

// addNamed adds metrics of numbers that n has after a refresh of g.
func (l *linux) addNamed(n *named, g *pmda.Group, lists ...[]namedMetrics) {
	for _, list := range lists {
		for _, some := range list {
			for _, m := range some.metrics {
				at := n.want(some.group, m.field)
				entry := pmda.Metric[uint64]{
					Name: m.name, ID: pmda.Item(some.cluster, m.item), Group: g,
					Text: m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
					Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
						if !n.known[at] {
							return 0, n.missing
						}
						return n.vals[at], nil
					},
				}
				if other, ok := unlike[entry.Name]; ok {
					entry.Sem, entry.Units, entry.Help = other.sem, other.units, other.help
				}
				pmda.Register(l.Agent, entry)
			}
		}
	}
}

// addNamedInt32 adds metrics of momentary numbers of int32.
func (l *linux) addNamedInt32(n *named, g *pmda.Group, units pdu.Units, list []namedMetrics) {
	for _, some := range list {
		for _, m := range some.metrics {
			at := n.want(some.group, m.field)
			pmda.Register(l.Agent, pmda.Metric[int32]{
				Name: m.name, ID: pmda.Item(some.cluster, m.item), Group: g,
				Text: m.text, Units: units,
				Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
					if !n.known[at] || n.vals[at] > math.MaxInt32 {
						return 0, n.missing
					}
					return int32(n.vals[at]), nil
				},
			})
		}
	}
}
