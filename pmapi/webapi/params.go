package webapi

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

// params are the parameters of a request, in order.
type params []param

type param struct{ name, value string }

// maxParams limits the parameters of a request.
const maxParams = 64

// parse adds the parameters of a query string. A value may contain "=".
func (p *params) parse(raw string) error {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		if len(*p) == maxParams {
			return badRequest("too many parameters")
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := unescape(name)
		if err != nil {
			return err
		}
		if value, err = unescape(value); err != nil {
			return err
		}
		*p = append(*p, param{name, value})
	}
	return nil
}

func unescape(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, nil
	}
	s, err := url.QueryUnescape(s)
	if err != nil {
		return "", badRequest("invalid encoding of a parameter")
	}
	if strings.IndexByte(s, 0) >= 0 { // a collector would read the text only up to there
		return "", badRequest("a parameter has a NUL in it")
	}
	return s, nil
}

// get returns the first value of a parameter.
func (p params) get(name string) (value string, ok bool) {
	for i := range p {
		if p[i].name == name {
			return p[i].value, true
		}
	}
	return "", false
}

// first returns the first of the named parameters that the request has.
func (p params) first(names ...string) (name, value string, ok bool) {
	for _, name := range names {
		if value, ok := p.get(name); ok {
			return name, value, true
		}
	}
	return "", "", false
}

// body reads the body of a POST.
func (q *query) body() ([]byte, error) {
	limit := int64(q.g.limits.MaxBody)
	b, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, limit))
	if err != nil {
		if _, ok := err.(*http.MaxBytesError); ok {
			return nil, &failure{http.StatusRequestEntityTooLarge, "request body too long"}
		}
		return nil, badRequest("cannot read the request body")
	}
	return b, nil
}
