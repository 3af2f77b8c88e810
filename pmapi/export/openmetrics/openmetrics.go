package openmetrics

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/internal/nodeview"
)

// A Handler serves the metrics of a Reader. It uses the format that the parameter format or the
// header Accept of the scraper requests, and gzip if the scraper accepts it. It is safe for
// concurrent use, but serves one scrape at a time; others wait. A scrape that has begun continues,
// even if the scraper disconnects, up to the time limit of the Reader's context. If the source
// fails, the status is 503, so Prometheus sets up to 0. Fields must not change after the first call
// of a method.
type Handler struct {
	Reader  *export.Reader // required; nothing else may use it
	Times   bool           // write the times of values; else a scraper uses the time of the scrape
	Strings bool           // also write strings that are not discrete; each new value is a new series
	Log     *slog.Logger   // receives names that collide; nil means none

	once  sync.Once
	pages exposition.Handler
}

func (h *Handler) prepare() {
	h.pages = exposition.Handler{Reader: h.Reader, Times: h.Times, Strings: h.Strings, Log: h.Log}
	h.pages.Views = map[string]exposition.View{"node": nodeview.New}
}

// ServeHTTP answers the methods GET and HEAD. A page has at most 200,000 samples; if there are
// more, pcp_gateway_truncated is 1.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h.once.Do(h.prepare)
	h.pages.ServeHTTP(w, req)
}

// AppendPage reads the metrics and appends a page to b in the text format 0.0.4, for a file or a
// push gateway. It must not be called concurrently, nor while ServeHTTP is in use. Errors are those
// of the Reader.
func (h *Handler) AppendPage(ctx context.Context, b []byte) ([]byte, error) {
	h.once.Do(h.prepare)
	return h.pages.AppendPage(ctx, b, exposition.Style{Format: exposition.Prometheus})
}
