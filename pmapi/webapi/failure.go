package webapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A failure is an error with the status and the text of its reply.
type failure struct {
	status  int
	message string
}

func (f *failure) Error() string { return f.message }

func badRequest(message string) error { return &failure{http.StatusBadRequest, message} }

// text returns the C library's text for the code of an error.
func text(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return pdu.ErrTimeout.Error()
	}
	return pdu.FromError(err).Error()
}

// cannotConnect returns the error of a request whose source cannot be opened. Its message contains
// the address. Its status is 401 if a login is missing or wrong.
func cannotConnect(l login, err error) error {
	message := "cannot connect to PMCD: " + text(err)
	if op, ok := errors.AsType[*pmapi.OpError](err); ok {
		message += ": " + op.Host + ": " + strings.TrimPrefix(op.Err.Error(), op.Host+": ")
	}
	code := pdu.FromError(err)
	if isLoginError(code) || l.user == "" && code == pdu.ErrPermission {
		return &failure{http.StatusUnauthorized, message}
	}
	return badRequest(message)
}

// isLoginError reports whether a code is that of a SASL error. These follow ErrNYI.
func isLoginError(code pdu.Error) bool { return code < pdu.ErrNYI && code >= pdu.ErrNYI-lastSASLError }

// lastSASLError is the largest SASL error, without its sign.
const lastSASLError = 999

// failed replaces the reply with an error and returns its status.
func (q *query) failed(err error) (status int) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{http.StatusBadRequest, text(err)}
	}
	q.text = ""
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

// errAbsent is the reply to requests for time series.
var errAbsent = badRequest("there is no store of time series here: use /pmapi/ or /metrics, or the data source PCP Vector in Grafana")

// absent refuses a request for time series.
func (q *query) absent() error { return errAbsent }
