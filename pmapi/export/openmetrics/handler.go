package openmetrics

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

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

	Strings   bool     // as in Encoder
	Times     bool     // as in Encoder
	Drop      []string // as in Encoder
	MaxSeries int      // as in Encoder

	once     sync.Once
	turn     chan struct{} // held during a scrape
	encoders map[pageKind]*Encoder
	page     []byte
}

func (h *Handler) plain() Format {
	if h.Plain == PCP {
		return PCP
	}
	return Prometheus
}

// ServeHTTP answers GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	kind := negotiate(strings.Join(req.Header.Values("Accept"), ","), h.plain())
	if word := req.URL.Query().Get("format"); word != "" {
		var ok bool
		if kind, ok = kindOf(word); !ok {
			http.Error(w, "format is none of openmetrics, prometheus, pcp", http.StatusBadRequest)
			return
		}
	}
	page, err := h.scrape(req.Context(), kind)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Add("Vary", "Accept, Accept-Encoding")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	header.Set("Content-Type", kind.contentType())
	if acceptsGzip(req.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		page = compressed(page)
	}
	header.Set("Content-Length", strconv.Itoa(len(page)))
	if req.Method == http.MethodGet {
		w.Write(page)
	}
}

func kindOf(word string) (pageKind, bool) {
	for f, name := range []string{"openmetrics", "prometheus", "pcp"} {
		if word == name {
			return pageKind{format: Format(f)}, true
		}
	}
	return pageKind{}, false
}

// scrape makes a page. It is the caller's.
func (h *Handler) scrape(ctx context.Context, kind pageKind) ([]byte, error) {
	h.once.Do(func() { h.turn, h.encoders = make(chan struct{}, 1), map[pageKind]*Encoder{} })
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	begin := time.Now()
	s, err := h.Reader.Read(context.WithoutCancel(ctx)) // for a Reader that is interrupted begins with all metadata again
	if err != nil {
		return nil, err
	}
	e := h.encoders[kind]
	if e == nil {
		e = &Encoder{Format: kind.format, Escaping: kind.escaping, Strings: h.Strings, Times: h.Times, Drop: h.Drop, MaxSeries: h.MaxSeries}
		h.encoders[kind] = e
	}
	h.page = e.Append(h.page[:0], s)
	return appendDuration(bytes.Clone(h.page), kind.format, time.Since(begin)), nil
}

const durationName = "pcp_gateway_scrape_duration_seconds"

// appendDuration adds what is not of the snapshot, and so not of an Encoder: how long the scrape has taken.
func appendDuration(page []byte, f Format, d time.Duration) []byte {
	if f == PCP {
		return page
	}
	page = bytes.TrimSuffix(page, []byte("# EOF\n"))
	page = appendOwnHeader(page, f, durationName, "How long it took to read the metrics", "seconds", false)
	page = append(strconv.AppendFloat(page, d.Seconds(), 'g', -1, 64), '\n')
	if f == OpenMetrics {
		page = append(page, "# EOF\n"...)
	}
	return page
}

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	return z
}}

func compressed(page []byte) []byte {
	var b bytes.Buffer
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(&b)
	z.Write(page) // into memory: cannot fail
	z.Close()
	return b.Bytes()
}

// acceptsGzip is whether a header Accept-Encoding has gzip, and not with the weight 0.
func acceptsGzip(header string) bool {
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
