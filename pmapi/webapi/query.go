package webapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
)

// A query is a request in progress, with its reply.
type query struct {
	g         *Gateway
	w         http.ResponseWriter
	r         *http.Request
	ctx       context.Context
	params    params
	name      string // of its route, or ""
	status    int
	compat    bool   // the path is of the older interface
	isContext bool   // the path is /pmapi/context
	pathID    string // the number of a context in the path, or ""
	shownID   string // the context's number in error replies, or ""
	s         *session
	hasTurn   bool   // q holds s.turn
	out       []byte // the reply
	text      string // content type of the reply; "" means JSON
	streamed  bool   // the handler sends the reply itself
}

var queries = sync.Pool{New: func() any { return new(query) }}

func newQuery(g *Gateway, w http.ResponseWriter, r *http.Request) *query {
	q := queries.Get().(*query)
	*q = query{g: g, w: w, r: r, params: q.params[:0], out: q.out[:0]}
	return q
}

func (q *query) free() {
	if cap(q.out) > keepBuffer {
		q.out = nil
	}
	clear(q.params[:cap(q.params)])
	*q = query{params: q.params[:0], out: q.out[:0]}
	queries.Put(q)
}

// serve serves the request. It sends exactly one reply, even after an error.
func (q *query) serve() {
	if len(q.r.RequestURI) > q.g.limits.MaxURL {
		q.reply(q.failed(&failure{http.StatusRequestURITooLong, "request URI too long"}))
		return
	}
	e, ok := q.route(q.r.URL.Path)
	q.addOrigin()
	switch {
	case !ok:
		q.reply(q.failed(&failure{http.StatusNotFound, "no handler for URL"}))
	case q.r.Method == http.MethodOptions:
		q.preflight(e)
	case !e.allows(q.r.Method):
		q.w.Header()["Allow"] = []string{e.methods()}
		q.reply(q.failed(&failure{http.StatusMethodNotAllowed, "method not allowed"}))
	case q.r.Method == http.MethodHead:
		q.serveHead(e)
	default:
		if status := q.run(e); !q.streamed {
			q.reply(status)
		}
	}
}

// serveHead replies to HEAD with the headers of GET that are known without a fetch.
func (q *query) serveHead(e endpoint) {
	err := q.params.parse(q.r.URL.RawQuery)
	if err == nil && e.head != nil {
		err = e.head(q)
	}
	switch {
	case err != nil:
		q.reply(q.failed(err))
	case len(q.out) > 0:
		q.reply(http.StatusOK)
	default:
		q.status = http.StatusOK
		q.setHeaders()
		q.w.WriteHeader(q.status)
	}
}

// run executes a request and returns the status of its reply.
func (q *query) run(e endpoint) (status int) {
	q.ctx = q.r.Context()
	if !e.long {
		ctx, cancel := context.WithTimeout(q.ctx, q.g.limits.RequestTimeout)
		defer cancel()
		q.ctx = ctx
	}
	if err := q.execute(e); err != nil {
		return q.failed(err)
	}
	return http.StatusOK
}

// execute executes a request. It releases the session even after a panic, because other requests
// wait for it.
func (q *query) execute(e endpoint) (err error) {
	defer func() { q.leave(err) }()
	if err := q.params.parse(q.r.URL.RawQuery); err != nil {
		return err
	}
	return e.serve(q)
}

var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noSniff  = []string{"nosniff"}
)

// setHeaders sets the headers of all replies.
func (q *query) setHeaders() {
	h := q.w.Header()
	h["Content-Type"] = jsonType
	if q.text != "" {
		h["Content-Type"] = []string{q.text}
	}
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
}

// reply sends q.out. The sum of all long replies is limited, because each stays in memory until its
// client has received it or disconnects.
func (q *query) reply(status int) {
	if n := int64(len(q.out)); n > longReply {
		defer q.g.sending.Add(-n)
		if q.g.sending.Add(n) > maxSending*int64(q.g.limits.MaxReply) {
			delete(q.w.Header(), "Content-Encoding")
			q.out = nil
			status = q.failed(&failure{http.StatusServiceUnavailable, "too many replies wait for clients that do not read them"})
		}
	}
	if q.text == "" {
		q.out = append(q.out, "\r\n"...)
	}
	q.status = status
	q.setHeaders()
	q.w.Header()["Content-Length"] = []string{strconv.Itoa(len(q.out))}
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(q.out) // an error means that the client has disconnected
	}
}

// begin begins the object of a reply with the number of the context and the parameter client, by
// which clients recognize replies.
func (q *query) begin() {
	q.out = append(q.out, `{"context":`...)
	q.out = strconv.AppendUint(q.out, uint64(q.s.id), 10)
	if client, ok := q.params.get("client"); ok {
		q.out = appendString(append(q.out, `,"client":`...), client)
	}
}

// succeed replies that the request was successful.
func (q *query) succeed() error {
	q.out = append(q.out, `{"context":`...)
	q.out = strconv.AppendUint(q.out, uint64(q.s.id), 10)
	q.out = append(q.out, `,"success":true}`...)
	return nil
}

// checkSize returns an error if the reply is too long.
func (q *query) checkSize() error {
	if len(q.out) > q.g.limits.MaxReply {
		return &failure{http.StatusRequestEntityTooLarge, "the reply exceeds " + strconv.Itoa(q.g.limits.MaxReply) + " bytes: request less"}
	}
	return nil
}
