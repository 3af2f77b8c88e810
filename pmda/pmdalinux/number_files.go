package pmdalinux

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A numberMetric is a metric of a number in a file that is one line of numbers.
type numberMetric[T int32 | uint32 | uint64] struct {
	pmda.Metric[T]
	file   string
	column int
}

// addNumberFiles adds such metrics. A number that does not fit in a T has no value.
func addNumberFiles[T int32 | uint32 | uint64](l *linux, list ...numberMetric[T]) {
	type source struct {
		line  *procfile.NumberLine
		group *pmda.Group
	}
	sources := map[string]source{}
	for _, m := range list {
		s, ok := sources[m.file]
		if !ok {
			s.line = new(procfile.NumberLine)
			s.group = l.fileGroup(m.file, s.line.Parse)
			sources[m.file] = s
		}
		m.Group = s.group
		m.Value = func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
			v, known := s.line.Get(m.column)
			if narrow := T(v); known && narrow >= 0 && uint64(narrow) == v {
				return narrow, nil
			}
			return 0, pmda.NoValue
		}
		pmda.Register(l.Agent, m.Metric)
	}
}
