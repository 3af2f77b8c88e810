package openmetrics

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pmapi/export"
)

// A Handler serves the metrics of a Reader. A scraper gets the format that its header Accept asks for, compressed with gzip if it
// likes that; the parameter "format" (openmetrics, prometheus or pcp) has precedence. One scrape is made at a time; others wait. What has begun
// is read to its end, or up to the time limit of the Reader's context, though the scraper goes away. If the source fails, the status is 503,
// so that "up" is 0.
type Handler struct {
	Reader *export.Reader // required; for the Handler alone

	// Plain is the format of text/plain, and of those that do not ask for any: Prometheus, or PCP for the names of pmproxy.
	// OpenMetrics, the zero value, means Prometheus.
	Plain Format

	// Views are other ways to show the metrics of the Reader's context, by what a scraper has as its parameter "view".
	Views map[string]View

	Strings   bool         // as in Encoder
	Times     bool         // as in Encoder
	Drop      []string     // as in Encoder
	MaxSeries int          // as in Encoder
	Log       *slog.Logger // as in Pages

	once   sync.Once
	turn   chan struct{} // held during a scrape
	pagers map[string]Pager
	page   []byte
}

func (h *Handler) init() {
	h.turn = make(chan struct{}, 1)
	h.pagers = map[string]Pager{"": &Pages{Reader: h.Reader, Strings: h.Strings, Times: h.Times, Drop: h.Drop, MaxSeries: h.MaxSeries, Log: h.Log}}
	for name, view := range h.Views {
		h.pagers[name] = view(h.Reader.Context)
	}
}

// ServeHTTP answers GET and HEAD.
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
	if AcceptsGzip(req.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		page = Gzip(page)
	}
	header.Set("Content-Length", strconv.Itoa(len(page)))
	if req.Method == http.MethodGet {
		w.Write(page)
	}
}

// scrape makes a page. It is the caller's.
func (h *Handler) scrape(ctx context.Context, p Pager, s Style) ([]byte, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	page, err := p.AppendPage(context.WithoutCancel(ctx), h.page[:0], s) // for a Reader that is interrupted begins with all metadata again
	if err != nil {
		return nil, err
	}
	h.page = page
	return bytes.Clone(page), nil
}

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	return z
}}

// Gzip compresses a page.
func Gzip(page []byte) []byte {
	var b bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&b)
	z.Write(page) // into memory: cannot fail
	z.Close()
	return b.Bytes()
}

// AcceptsGzip is whether a header Accept-Encoding has gzip, and not with the weight 0.
func AcceptsGzip(header string) bool {
	for item := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			name, value, _ := strings.Cut(strings.TrimSpace(params), "=")
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || q > 0
		}
	}
	return false
}
