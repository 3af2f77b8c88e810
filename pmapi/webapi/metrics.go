package webapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/httpserver"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/internal/nodeview"
)

// A scrapeKey identifies the context that scrapes share.
type scrapeKey struct {
	spec  string
	login login
}

// name returns the source for the log, without attributes, because one may be a password.
func (k scrapeKey) name() string {
	host, _, _ := strings.Cut(k.spec, "?")
	return cmp.Or(host, "localhost")
}

// A pageKey holds the parameters that determine the pager of a page.
type pageKey struct {
	view, names, filter, match string
	times                      bool
}

// metrics replies with metrics as text, in pmproxy's format or the one that the request asks for.
// Scrapes of a source share one context, so that metadata is read only once.
func (q *query) metrics() error {
	style, err := q.style()
	if err != nil {
		return err
	}
	if _, err := q.pollTimeout(); err != nil { // checked as pmproxy does, but not used
		return err
	}
	for done := false; !done; {
		isNew, err := q.openForScrapes()
		if err == nil {
			done, err = q.scrape(style, isNew)
		}
		if err != nil {
			return unavailable(err)
		}
	}
	if httpserver.AcceptsGzip(q.r.Header.Get("Accept-Encoding")) {
		q.w.Header()["Content-Encoding"] = []string{"gzip"}
		q.out = httpserver.Gzip(q.out)
	}
	return nil
}

// style returns the format of the page, and sets the content type of the reply.
func (q *query) style() (exposition.Style, error) {
	q.w.Header().Add("Vary", "Accept, Accept-Encoding")
	format, _ := q.params.get("format")
	style, err := exposition.StyleOf(q.r, format, exposition.PCP)
	if err != nil {
		return style, badRequest(err.Error())
	}
	if q.compat {
		style = exposition.Style{Format: exposition.PCP, Escaping: exposition.Colons}
	}
	q.text = style.ContentType()
	return style, nil
}

// unavailable returns err with the status 503, because scrapers ignore the text of a reply.
func unavailable(err error) error {
	if isFailure(err) {
		return err
	}
	return &failure{http.StatusServiceUnavailable, text(err)}
}

// isFailure reports whether an error has a status.
func isFailure(err error) bool {
	_, ok := errors.AsType[*failure](err)
	return ok
}

// scrape makes a page. If done is false, the shared context has failed, for example because its
// connection is lost or its archive has ended. The caller then tries again with a new one.
func (q *query) scrape(style exposition.Style, isNew bool) (done bool, err error) {
	err = q.appendPage(style)
	if err == nil || isFailure(err) || q.s.scrapes == nil {
		return true, err
	}
	q.g.contexts.abandon(q.s)
	q.leave(nil)
	again := !isNew && !errors.Is(err, pdu.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded)
	if again {
		err = nil
	}
	return !again, err
}

// openForScrapes finds the context of the request, or else the one that scrapes of its source
// share, which it opens if necessary.
func (q *query) openForScrapes() (isNew bool, err error) {
	if _, given := q.params.get("context"); given || q.pathID != "" {
		return true, q.open()
	}
	open, l, err := q.source()
	if err != nil {
		return true, err
	}
	_, spec, _ := q.params.first("hostspec", "hostname")
	key := scrapeKey{spec, l}
	if q.s = q.g.contexts.forScrapes(key); q.s == nil {
		if err := q.connect(open, &session{poll: scrapeIdle, login: l, scrapes: &key}); err != nil {
			if f, ok := errors.AsType[*failure](err); ok && f.status == http.StatusBadRequest {
				f.status = http.StatusServiceUnavailable
			}
			return true, err
		}
		isNew = true
	}
	return isNew, q.take()
}

// appendPage reads the metrics and appends the page.
func (q *query) appendPage(style exposition.Style) error {
	var key pageKey
	_, key.names, _ = q.params.first("names", "name", "prefix", "target")
	key.filter, _ = q.params.get("filter")
	if match, ok := q.params.get("match"); ok {
		key.match = match
		if err := q.checkMatch(); err != nil {
			return err
		}
	}
	key.view, _ = q.params.get("view")
	times, _ := q.params.get("times")
	key.times = times == "true"
	if err := q.readPage(key, style); err != nil {
		return err
	}
	return q.checkSize()
}

// makePage reads the metrics and returns the page.
func (q *query) makePage(key pageKey, style exposition.Style) ([]byte, error) {
	p := q.s.pages[key]
	if p == nil {
		var err error
		if p, err = q.pager(key); err != nil {
			return nil, err
		}
		if q.s.pages == nil || len(q.s.pages) >= maxPages {
			q.s.pages = map[pageKey]exposition.Pager{}
		}
		q.s.pages[key] = p
	}
	b := q.out[:0]
	if q.isReader(style) {
		b = append(b, pcpNames...)
	}
	page, err := p.AppendPage(q.ctx, b, style)
	if err == errFilter {
		delete(q.s.pages, key)
	}
	return page, err
}

// pcpNames is the first line of a page for persons.
const pcpNames = "# These are the names and units of PCP's pmproxy. Prometheus gets other names, in base units: add format=prometheus to the URL to see them.\n"

// isReader reports whether a person seems to request the page, with curl or a browser. Persons
// could mistake its names for those that Prometheus gets.
func (q *query) isReader(style exposition.Style) bool {
	_, chosen := q.params.get("format")
	view, _ := q.params.get("view")
	accept := q.r.Header.Get("Accept")
	return style.Format == exposition.PCP && !chosen && view == "" && !q.compat && (accept == "*/*" || strings.Contains(accept, "text/html"))
}

// pager returns a new pager for pages of a key.
func (q *query) pager(key pageKey) (exposition.Pager, error) {
	switch key.view {
	case "":
	case "node":
		return nodeview.New(q.s.c), nil
	default:
		return nil, badRequest("there is no such view: " + key.view + ", but node")
	}
	f, err := q.filter(key.filter)
	if err != nil {
		return nil, err
	}
	names, err := q.namesBelow(key.names)
	if err != nil {
		return nil, err
	}
	p := &exposition.Handler{Reader: &export.Reader{Context: q.s.c, Names: names}, Times: key.times}
	if f != nil {
		p.Reader.Keep = f.keep
	}
	if q.s.scrapes != nil && key.names == "" { // other pages would repeat what the full page logs
		p.Log = q.g.log.With("source", q.s.scrapes.name())
	}
	return &filteredPages{p, f}, nil
}

// filteredPages makes pages of the metrics that a filter keeps. A nil filter keeps all.
type filteredPages struct {
	pages  *exposition.Handler
	filter *filter
}

func (p *filteredPages) AppendPage(ctx context.Context, b []byte, s exposition.Style) ([]byte, error) {
	if p.filter == nil {
		return p.pages.AppendPage(ctx, b, s)
	}
	p.filter.begin = time.Now()
	b, err := p.pages.AppendPage(ctx, b, s)
	if p.filter.late {
		return nil, errFilter
	}
	return b, err
}

// A filter drops metrics whose names match. Its tests may take half of RequestTimeout, so that the
// reply can name the filter as the cause.
type filter struct {
	drops matcher
	limit time.Duration
	begin time.Time
	late  bool
}

var errFilter = badRequest("the filter takes too long: its patterns are too large for so many metrics")

func (f *filter) keep(name string, _ pdu.Desc) bool {
	f.late = f.late || time.Since(f.begin) > f.limit
	return !f.late && !f.drops(name)
}

// filter returns the filter for a list of names, which are glob patterns unless the parameter match
// says otherwise. It is nil for an empty list.
func (q *query) filter(list string) (*filter, error) {
	drops, err := q.matcher(list, "glob")
	if err != nil || list == "" {
		return nil, err
	}
	return &filter{drops: drops, limit: q.g.limits.RequestTimeout / 2}, nil
}

// namesBelow returns the names of a list that exist in the name space. It is an error if none
// exists.
func (q *query) namesBelow(list string) (names []string, err error) {
	below := 0
	var unknown error
	for name := range strings.SplitSeq(list, ",") {
		if name == "" && list != "" {
			continue
		}
		found, err := q.s.c.Traverse(q.ctx, name)
		switch {
		case err == nil:
		case isFatal(err):
			return nil, err
		default:
			unknown = badRequest("'" + name + "' - " + text(err))
			continue
		}
		if below += len(found); below > q.g.limits.MaxNames {
			return nil, errTooMany
		}
		names = append(names, name)
	}
	if len(names) == 0 && unknown != nil {
		return nil, unknown
	}
	return names, nil
}

// metricsHead sets the content type of the page.
func (q *query) metricsHead() error {
	_, err := q.style()
	return err
}
