package openmetrics

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/base"
)

// A Pager makes pages of metrics.
type Pager interface {
	// AppendPage reads the metrics and appends a page of them to b, which it does not keep. It is
	// not called concurrently. After an error the next call starts from the beginning.
	AppendPage(ctx context.Context, b []byte, s Style) ([]byte, error)
}

// A View makes a Pager that shows the metrics of a context in another way, for example under the
// names of another exporter. The context is closed when the Pager is no longer used.
type View func(c *pmapi.Context) Pager

// Pages is a Pager for the metrics of a Reader. Its fields must not change after the first page.
type Pages struct {
	Reader *export.Reader // required; nothing else may use it

	Strings   bool         // as in Encoder
	Times     bool         // as in Encoder
	Drop      []string     // as in Encoder
	MaxSeries int          // as in Encoder
	Log       *slog.Logger // receives names that collide; nil means none

	encoders map[Style]*Encoder
	logged   map[string]bool // metrics
}

// AppendPage appends a page. Errors are those of the Reader.
func (p *Pages) AppendPage(ctx context.Context, b []byte, s Style) ([]byte, error) {
	begin := time.Now()
	snap, err := p.Reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	s.named = false
	e := p.encoders[s]
	if e == nil {
		e = &Encoder{Format: s.Format, Escaping: s.Escaping, Strings: p.Strings, Times: p.Times, Drop: p.Drop, MaxSeries: p.MaxSeries}
		if p.encoders == nil {
			p.encoders = map[Style]*Encoder{}
		}
		p.encoders[s] = e
	}
	b = e.Append(b, snap)
	p.logCollisions(e.Collisions)
	return appendDuration(b, s.Format, time.Since(begin)), nil
}

// logCollisions names metrics that do not have the names that they should have, each once.
func (p *Pages) logCollisions(all []string) {
	if p.Log == nil {
		return
	}
	var found []string
	for _, name := range all {
		if !p.logged[name] {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return
	}
	if p.logged == nil || len(p.logged) > maxRemembered {
		p.logged = map[string]bool{}
	}
	for _, name := range all {
		p.logged[name] = true
	}
	p.Log.Warn("metrics whose names in this format are those of others: here they have a number", "count", len(found), "metrics", strings.Join(found[:min(len(found), maxLogged)], " "))
}

// How many metrics a line of the log names, and of how many it is remembered that they have been
// logged.
const (
	maxLogged     = 100
	maxRemembered = 10_000
)

// appendDuration adds what is not of the snapshot, and so not of an Encoder: how long the scrape
// has taken.
func appendDuration(page []byte, f Format, d time.Duration) []byte {
	if f == PCP {
		return page
	}
	page = bytes.TrimSuffix(page, []byte("# EOF\n"))
	page = appendOwnHeader(page, f, base.ScrapeDuration, "How long it took to read the metrics", "seconds", false)
	page = append(strconv.AppendFloat(page, d.Seconds(), 'g', -1, 64), '\n')
	if f == OpenMetrics {
		page = append(page, "# EOF\n"...)
	}
	return page
}
