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
	status    int    // of the reply
	compat    bool   // of the older interface
	isContext bool   // the request is /pmapi/context
	pathID    string // the number of a context in the path, or ""
	shownID   string // of the context, in errors, or ""
	s         *session
	hasTurn   bool   // of s
	out       []byte // the reply
	text      string // its content type, if it is not JSON
	streamed  bool   // the reply has been sent
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

// serve serves the request. It sends exactly one reply, also after an error.
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

// serveHead replies to HEAD with the headers that GET has, as far as they are known without what
// would have to be fetched.
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

// execute executes a request. Its context is given back even if that panics, for the requests that
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

// reply sends q.out. A limit applies to the sum of all long replies, because each stays in memory
// until its client has received it or the server gives up.
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
		_, _ = q.w.Write(q.out) // an error means that the client has gone
	}
}

// begin begins the object of a reply: with the number of the context, and what the client has given
// to find the reply again.
func (q *query) begin() {
	q.out = append(q.out, `{"context":`...)
	q.out = strconv.AppendUint(q.out, uint64(q.s.id), 10)
	if client, ok := q.params.get("client"); ok {
		q.out = appendString(append(q.out, `,"client":`...), client)
	}
}

// succeed is the reply to a request that asks for nothing.
func (q *query) succeed() error {
	q.out = append(q.out, `{"context":`...)
	q.out = strconv.AppendUint(q.out, uint64(q.s.id), 10)
	q.out = append(q.out, `,"success":true}`...)
	return nil
}

// checkSize is an error if the reply has grown too long.
func (q *query) checkSize() error {
	if len(q.out) > q.g.limits.MaxReply {
		return &failure{http.StatusRequestEntityTooLarge, "the reply exceeds " + strconv.Itoa(q.g.limits.MaxReply) + " bytes: request less"}
	}
	return nil
}
