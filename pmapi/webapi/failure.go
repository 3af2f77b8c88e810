package webapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/pcp-go/pcp/pdu"
)

// A failure is an error with the status and the text of its reply.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

func badRequest(message string) error { return &failure{http.StatusBadRequest, message} }

// text is the text of an error that clients know: that of the C library for its code.
func text(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return pdu.ErrTimeout.Error()
	}
	return pdu.FromError(err).Error()
}

// failed replaces the reply by an error and returns its status.
func (q *query) failed(err error) (status int) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{http.StatusBadRequest, text(err)}
	}
	q.text = ""
	if f == errAbsent {
		return f.status
	}
	q.out = append(q.out[:0], '{')
	if q.shownID != "" {
		q.out = append(append(append(q.out, `"context":`...), q.shownID...), ',')
	}
	if f.message == "" {
		f.message = "(none)"
	}
	q.out = appendString(append(q.out, `"message":`...), f.message)
	q.out = append(q.out, `,"success":false}`...)
	if f.status == http.StatusUnauthorized {
		q.w.Header()["Www-Authenticate"] = []string{`Basic realm="pmapi/` + q.shownID + `"`}
	}
	return f.status
}

// absent replies that there is no store of time series.
func (q *query) absent() error {
	q.out = append(q.out, `{"success":false}`...)
	return errAbsent
}

// errAbsent is the error of a request whose reply is made already.
var errAbsent = &failure{http.StatusBadRequest, ""}
