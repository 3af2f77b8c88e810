package webapi

import (
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/internal/scan"
)

// An endpoint serves the requests of a path.
type endpoint struct {
	post  bool // POST is allowed besides GET
	long  bool // RequestTimeout does not apply
	serve func(*query) error
	head  func(*query) error // for HEAD: sets the content type; nil means JSON
}

// endpoints are the paths below /pmapi/. A number of a context may precede them, and an underscore
// the name.
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

// pages are the other paths. One that ends in a slash stands for all paths that begin with it.
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

// route returns the endpoint of a path, and sets the fields of q that the path determines.
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

// methods returns the value of the header Allow.
func (e endpoint) methods() string {
	if e.post {
		return "GET, HEAD, POST, OPTIONS"
	}
	return "GET, HEAD, OPTIONS"
}

// allows reports whether an endpoint has a method.
func (e endpoint) allows(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	case http.MethodPost:
		return e.post
	}
	return false
}
