package webapi

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// sources lists the names of Sources, and the entries of Allow without patterns, except for this
// computer's collector.
func (q *query) sources() error {
	if q.g.RequireLogin {
		q.out = append(q.out, `{"sources":[],"hosts":[]}`...)
		return nil
	}
	q.out = q.appendList(append(q.out, `{"sources":`...), slices.Sorted(maps.Keys(q.g.Sources)))
	hosts := slices.DeleteFunc(slices.Clone(q.g.Allow), func(spec string) bool {
		h, err := hostspec.Parse(spec)
		return err != nil || strings.Contains(spec, "*") || q.g.isLocal(h)
	})
	q.out = append(q.appendList(append(q.out, `,"hosts":`...), hosts), '}')
	return nil
}

func (q *query) appendList(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// past replies with count samples of an archive, from start on, step seconds apart, and with the
// metadata of their metrics. Without names the reply has only the start and the end of the archive.
func (q *query) past() error {
	if err := q.openNew(true); err != nil {
		return err
	}
	if err := q.take(); err != nil {
		return err
	}
	label, err := q.s.c.ArchiveLabel()
	if err != nil {
		return badRequest("no archive: its values are in /live/events")
	}
	end, err := q.s.c.ArchiveEnd(q.ctx)
	if err != nil {
		return err
	}
	q.out = appendSeconds(append(q.out, `{"start":`...), label.Start)
	q.out = appendSeconds(append(q.out, `,"end":`...), end)
	if q.param("names") != "" {
		if err := q.appendPast(label.Start); err != nil {
			return err
		}
	}
	q.out = append(q.out, '}')
	return nil
}

// appendSeconds appends a time in seconds since 1970.
func appendSeconds(b []byte, t time.Time) []byte {
	return appendNanos(append(strconv.AppendInt(b, t.Unix(), 10), '.'), t.Nanosecond())
}

// appendPast appends the values of metrics.
func (q *query) appendPast(first time.Time) error {
	watches, err := q.liveNames()
	if err != nil {
		return err
	}
	step := time.Second
	if text := q.param("step"); text != "" {
		if step, err = seconds("step", text); err != nil {
			return err
		}
	}
	start := first
	if text := q.param("start"); text != "" {
		from, err := seconds("start", text) // since 1970
		if err != nil {
			return err
		}
		start = time.Unix(0, int64(from))
	}
	count, err := strconv.Atoi(q.param("count"))
	if err != nil || count < 1 || count > maxPast {
		return badRequest("count must be from 1 to " + strconv.Itoa(maxPast))
	}
	if early := first.Sub(start); early > 0 { // skip the steps before the archive
		steps := min((early-1)/step+1, maxPast)
		start, count = start.Add(steps*step), count-int(steps)
	}
	if err := q.s.c.SetMode(q.ctx, pmapi.ModeInterp, start, step); err != nil {
		return err
	}
	names := make([]string, len(watches))
	for i, w := range watches {
		names[i] = w.name
	}
	p := new(livePlan)
	q.out = append(q.out, `,"samples":[`...)
	for i := range count {
		err := p.fetch(q, names)
		if errors.Is(err, pdu.ErrEOL) {
			break
		}
		if err != nil {
			return err
		}
		if i > 0 {
			q.out = append(q.out, ',')
		}
		q.out = append(appendSeconds(append(q.out, `{"t":`...), q.s.result.Time), `,"v":{`...)
		for j := range names {
			if j > 0 {
				q.out = append(q.out, ',')
			}
			q.out = p.appendValues(q, q.out, j)
		}
		q.out = append(q.out, "}}"...)
		if err := q.checkSize(); err != nil {
			return err
		}
	}
	q.out = append(q.out, `],"meta":`...)
	q.out, _ = p.appendMeta(q.out, watches, 0)
	return q.checkSize()
}

// param returns the value of a parameter, or "".
func (q *query) param(name string) string {
	v, _ := q.params.get(name)
	return v
}
