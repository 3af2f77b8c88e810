package webapi

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"time"

	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A login is a user of a collector. The zero value means no login.
type login struct{ user, password string }

func (l login) equal(o login) bool {
	user := subtle.ConstantTimeCompare([]byte(l.user), []byte(o.user))
	return user&subtle.ConstantTimeCompare([]byte(l.password), []byte(o.password)) == 1
}

var errFailedLogins = &failure{http.StatusTooManyRequests, "too many failed logins of this user: wait a minute"}

var errNeedLogin = &failure{http.StatusUnauthorized, "authentication required"}

// login returns the login of HTTP basic authentication, or else that of the hostspec.
func (q *query) login() (login, error) {
	_, spec, ok := q.params.first("hostspec", "hostname")
	if !ok {
		return q.loginAs(hostspec.Spec{})
	}
	h, err := hostspec.Parse(spec)
	if err != nil {
		h = hostspec.Spec{}
	}
	return q.loginAs(h)
}

// maxLoggedUser limits a user name in the log, in bytes.
const maxLoggedUser = 100

// loginAs returns the login of a request that names a host. It returns errFailedLogins after too
// many failed logins of the user from the client's address. The right password is then refused too,
// so that the client cannot tell it from a wrong one.
func (q *query) loginAs(h hostspec.Spec) (login, error) {
	l, err := q.readLogin(h)
	if err == nil && l.user == "" && q.g.RequireLogin {
		err = errNeedLogin
	}
	if err == nil && l.user != "" && !q.g.failures.Allowed(q.loginKey(l), loginlimit.GatewayPerMinute, time.Now()) {
		err = errFailedLogins
	}
	return l, err
}

func (q *query) loginKey(l login) loginlimit.Key {
	return loginlimit.KeyOf(loginlimit.Address(q.clientAddr()), l.user)
}

// loginFailed counts and logs a failed login.
func (q *query) loginFailed(l login, err error) {
	q.g.failures.Add(q.loginKey(l), loginlimit.GatewayPerMinute, time.Now())
	q.g.log.Warn("login failed", slog.Any("addr", loglimit.Text(q.r.RemoteAddr)),
		slog.Any("user", loglimit.Text(l.user[:min(len(l.user), maxLoggedUser)])), slog.Any("err", err))
}

// countFailures returns open with its failed logins counted and logged.
func (q *query) countFailures(l login, open opener) opener {
	if l.user == "" {
		return open
	}
	return func(ctx context.Context) (*pmapi.Context, error) {
		c, err := open(ctx)
		if err != nil && isLoginError(pdu.FromError(err)) {
			q.loginFailed(l, err)
		}
		return c, err
	}
}

// readLogin returns the login of HTTP basic authentication, or else that of h. A user without a
// password in h is errNeedLogin.
func (q *query) readLogin(h hostspec.Spec) (l login, err error) {
	l.user, _ = h.Attr("username")
	password, hasPassword := h.Attr("password")
	l.password = password
	if header := q.r.Header.Get("Authorization"); len(header) >= 6 && equalFold(header[:6], "basic ") {
		user, password, ok := q.r.BasicAuth()
		if !ok || user == "" || l.user != "" && l.user != user {
			return login{}, errNeedLogin
		}
		return login{user, password}, nil
	}
	if l.user != "" && !hasPassword {
		return login{}, errNeedLogin
	}
	if l.user == "" {
		l.password = ""
	}
	return l, nil
}
