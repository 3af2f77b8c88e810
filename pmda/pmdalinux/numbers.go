package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// numbers are the first fields of a file that is one line of numbers, as many
// below /proc/sys are.
type numbers struct {
	vals  [8]uint64
	known [8]bool
}

func (n *numbers) parse(text []byte) error {
	line, _, ok := wholeLine(text)
	if !ok {
		line = nil
	}
	for i := range n.vals {
		n.vals[i], line, n.known[i] = cutUint(line)
	}
	return nil
}

// A numberMetric is a metric that shows one of them.
type numberMetric[T int32 | uint32 | uint64] struct {
	pmda.Metric[T]
	file   string
	column int
}

// addNumbers adds such metrics. There is no value of a number that T cannot hold.
func addNumbers[T int32 | uint32 | uint64](l *linux, list ...numberMetric[T]) {
	type source struct {
		n *numbers
		g *pmda.Group
	}
	sources := map[string]source{}
	for _, m := range list {
		s, ok := sources[m.file]
		if !ok {
			s.n = new(numbers)
			s.g = l.source(m.file, s.n.parse)
			sources[m.file] = s
		}
		m.Group = s.g
		m.Value = func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
			v := s.n.vals[m.column]
			if narrow := T(v); s.n.known[m.column] && narrow >= 0 && uint64(narrow) == v {
				return narrow, nil
			}
			return 0, pmda.NoValue
		}
		pmda.Register(l.Agent, m.Metric)
	}
}
