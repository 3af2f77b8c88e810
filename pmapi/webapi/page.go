package webapi

import (
	"embed"
	"net/http"
	"path"
)

// The page that shows metrics. All addresses in it are relative: it works below any path.
//
//go:embed page
var pageFiles embed.FS

// pageTypes maps file name extensions to content types.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// pagePolicy lets the page load only what this server serves, and run no inline script.
var pagePolicy = []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}

var noReferrer = []string{"no-referrer"}

// page replies with a file of the page.
func (q *query) page() (err error) {
	if q.g.RequireLogin && q.r.Header.Get("Authorization") == "" {
		return errNeedLogin // so that the browser asks for it; requests for metrics check it
	}
	name := q.r.URL.Path[1:]
	if name == "" {
		name = "page/index.html"
	}
	if q.out, err = pageFiles.ReadFile(name); err != nil {
		return &failure{http.StatusNotFound, "no handler for URL"}
	}
	q.text = pageTypes[path.Ext(name)]
	h := q.w.Header()
	h["Content-Security-Policy"] = pagePolicy
	h["Referrer-Policy"] = noReferrer
	return nil
}
