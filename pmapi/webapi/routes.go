package webapi

import (
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// An endpoint is what a path leads to.
type endpoint struct {
	post  bool // POST is a method of it, beside GET
	long  bool // it lasts as long as the client likes
	serve func(*query) error
	head  func(*query) error // what HEAD executes: what says the type of the reply; nil means nothing, and JSON
}

// endpoints are those below /pmapi/, with a number of a context between or not, and with an
// underscore before their name or not.
var endpoints = map[string]endpoint{
	"context":  {serve: (*query).context},
	"metric":   {serve: (*query).metric},
	"fetch":    {serve: (*query).fetch},
	"indom":    {serve: (*query).indom},
	"children": {serve: (*query).children},
	"profile":  {serve: (*query).profile},
	"store":    {post: true, serve: (*query).store},
	"derive":   {post: true, serve: (*query).derive},
	"metrics":  {serve: (*query).metrics, head: (*query).metricsHead},
}

// pages are other paths; those that end in a slash are for all paths that begin so.
var pages = map[string]endpoint{
	"/":             {serve: (*query).page, head: (*query).page},
	"/page/":        {serve: (*query).page, head: (*query).page},
	"/live/events":  {long: true, serve: (*query).live, head: (*query).liveHead},
	"/live/past":    {serve: (*query).past},
	"/live/sources": {serve: (*query).sources},
	"/metrics":      {serve: (*query).metrics, head: (*query).metricsHead},
	"/series/":      {post: true, serve: (*query).absent, head: (*query).absent},
	"/search/":      {post: true, serve: (*query).absent, head: (*query).absent},
}

// route finds the endpoint of a path, and what the path says of the request.
func (q *query) route(path string) (e endpoint, ok bool) {
	rest, isAPI := strings.CutPrefix(path, "/pmapi/")
	if !isAPI {
		if e, ok = pages[path]; !ok {
			if i := strings.IndexByte(strings.TrimPrefix(path, "/"), '/'); i >= 0 {
				path = path[:i+2]
				e, ok = pages[path]
			}
		}
		if ok {
			q.name = path
		}
		return e, ok
	}
	if number, name, found := strings.Cut(rest, "/"); found {
		if !isNumber(number) {
			return e, false
		}
		q.pathID, rest = number, name
	}
	rest, q.compat = strings.CutPrefix(rest, "_")
	if e, ok = endpoints[rest]; ok {
		q.name = rest
	}
	q.isContext = rest == "context"
	return e, ok
}

func isNumber(s string) bool {
	for i := range len(s) {
		if !scan.IsDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// methods are those of an endpoint, as in the header Allow.
func (e endpoint) methods() string {
	if e.post {
		return "GET, HEAD, POST, OPTIONS"
	}
	return "GET, HEAD, OPTIONS"
}

// allows reports whether a method is one of an endpoint.
func (e endpoint) allows(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	case http.MethodPost:
		return e.post
	}
	return false
}
