package exposition

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/pcp-go/pcp/internal/httpserver"
	"github.com/pcp-go/pcp/pmapi/export"
)

// A Handler serves the metrics of a Reader. It uses the format that the parameter format or the
// header Accept of the scraper requests, and gzip if the scraper accepts it. It is safe for
// concurrent use, but serves one scrape at a time; others wait. A scrape that has begun continues,
// even if the scraper disconnects, up to the time limit of the Reader's context. If the source
// fails, the status is 503, so Prometheus sets up to 0.
type Handler struct {
	Reader *export.Reader // required; nothing else may use it

	// Plain is the format for text/plain and for requests without a format: Prometheus, or PCP for
	// the names of pmproxy. OpenMetrics, the zero value, means Prometheus.
	Plain Format

	// Views maps values of the parameter view to other pages on the Reader's context.
	Views map[string]View

	Strings bool         // as in Encoder
	Times   bool         // as in Encoder
	Log     *slog.Logger // receives names that collide; nil means none

	once   sync.Once
	turn   chan struct{} // held during a scrape
	pagers map[string]Pager
	page   []byte

	encoders map[Style]*Encoder
	logged   map[string]bool // metrics whose collision was logged
}

func (h *Handler) init() {
	h.turn = make(chan struct{}, 1)
	h.pagers = map[string]Pager{"": h}
	for name, view := range h.Views {
		h.pagers[name] = view(h.Reader.Context)
	}
}

// ServeHTTP answers the methods GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	h.once.Do(h.init)
	params := req.URL.Query()
	pager, ok := h.pagers[params.Get("view")]
	if !ok {
		http.Error(w, "there is no such view", http.StatusBadRequest)
		return
	}
	style, err := StyleOf(req, params.Get("format"), cmp.Or(h.Plain, Prometheus))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	page, err := h.scrape(req.Context(), pager, style)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept, Accept-Encoding")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	header.Set("Content-Type", style.ContentType())
	if httpserver.AcceptsGzip(req.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		page = httpserver.Gzip(page)
	}
	header.Set("Content-Length", strconv.Itoa(len(page)))
	if req.Method == http.MethodGet {
		w.Write(page)
	}
}

// scrape returns a new page.
func (h *Handler) scrape(ctx context.Context, p Pager, s Style) ([]byte, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	page, err := p.AppendPage(context.WithoutCancel(ctx), h.page[:0], s) // an interrupted Reader would read all metadata again
	if err != nil {
		return nil, err
	}
	h.page = page
	return bytes.Clone(page), nil
}
