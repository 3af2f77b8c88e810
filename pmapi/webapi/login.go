package webapi

import (
	"crypto/subtle"
	"net/http"

	"github.com/pcp-go/pcp/pmapi"
)

// A login is a user of a collector, or nobody.
type login struct{ user, password string }

func (l login) equal(o login) bool {
	user := subtle.ConstantTimeCompare([]byte(l.user), []byte(o.user))
	return user&subtle.ConstantTimeCompare([]byte(l.password), []byte(o.password)) == 1
}

var errNeedLogin = &failure{http.StatusUnauthorized, "authentication required"}

// login is whom the request is of: by HTTP basic authentication, or by its hostspec.
func (q *query) login() (login, error) {
	_, spec, ok := q.params.first("hostspec", "hostname")
	if !ok {
		return q.loginAs(pmapi.HostSpec{})
	}
	h, err := pmapi.ParseHost(spec)
	if err != nil {
		h = pmapi.HostSpec{}
	}
	return q.loginAs(h)
}

// loginAs is whom a request is of that names a host. A user without a password is nobody.
func (q *query) loginAs(h pmapi.HostSpec) (l login, err error) {
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
