package exposition

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/base"
)

// A Pager makes pages of metrics.
type Pager interface {
	// AppendPage reads the metrics and appends a page of them to b, which it does not keep. It is
	// not called concurrently. After an error the next call reads all metadata again.
	AppendPage(ctx context.Context, b []byte, s Style) ([]byte, error)
}

// A View returns a Pager that shows the metrics of a context in another way, for example under the
// names of another exporter. The context must stay open while the Pager is in use.
type View func(c *pmapi.Context) Pager

// AppendPage reads the metrics of the Reader and appends a page of them. It must not be called
// concurrently, nor while ServeHTTP is in use. Errors are those of the Reader.
func (h *Handler) AppendPage(ctx context.Context, b []byte, s Style) ([]byte, error) {
	begin := time.Now()
	snap, err := h.Reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	s.named = false
	e := h.encoders[s]
	if e == nil {
		e = &Encoder{Format: s.Format, Escaping: s.Escaping, Strings: h.Strings, Times: h.Times}
		if h.encoders == nil {
			h.encoders = map[Style]*Encoder{}
		}
		h.encoders[s] = e
	}
	b = e.Append(b, snap)
	h.logCollisions(e.Collisions)
	return appendDuration(b, s.Format, time.Since(begin)), nil
}

// logCollisions logs metrics whose names have a number, each once.
func (h *Handler) logCollisions(all []string) {
	if h.Log == nil {
		return
	}
	var found []string
	for _, name := range all {
		if !h.logged[name] {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return
	}
	if h.logged == nil || len(h.logged) > maxRemembered {
		h.logged = map[string]bool{}
	}
	for _, name := range all {
		h.logged[name] = true
	}
	h.Log.Warn("metrics whose names in this format are those of others: here they have a number", "count", len(found), "metrics", strings.Join(found[:min(len(found), maxLogged)], " "))
}

// How many metrics a log record names, and how many logged metrics are remembered.
const (
	maxLogged     = 100
	maxRemembered = 10_000
)

// appendDuration appends the duration of the scrape, which the snapshot lacks.
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
