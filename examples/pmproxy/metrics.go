package main

import (
	"net/http"
	"sync"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/nodeview"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
)

// A metricsPage serves /metrics of the collector of this computer to those that ask for more than pmproxy has: OpenMetrics, as Prometheus
// does, or a format or view by name. All else is for the gateway: single metrics, other hosts, logins, the form of pmproxy.
type metricsPage struct {
	gateway http.Handler
	dialer  pmapi.Dialer

	mu   sync.Mutex
	page *openmetrics.Handler // once there was a connection
	c    *pmapi.Context
}

func (m *metricsPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.isFor(r) {
		m.gateway.ServeHTTP(w, r)
		return
	}
	page, err := m.open(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	page.ServeHTTP(w, r)
}

// isFor reports whether a request is not for the gateway.
func (m *metricsPage) isFor(r *http.Request) bool {
	if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "" {
		return false
	}
	wants := openmetrics.Negotiate(r.Header.Get("Accept"), openmetrics.PCP).Format == openmetrics.OpenMetrics
	for name := range r.URL.Query() {
		if name != "view" && name != "format" {
			return false
		}
		wants = true
	}
	return wants
}

// open connects to the collector for the first request; the context then connects again by itself.
func (m *metricsPage) open(r *http.Request) (*openmetrics.Handler, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.page != nil {
		return m.page, nil
	}
	c, err := m.dialer.Dial(r.Context(), "localhost")
	if err != nil {
		return nil, err
	}
	m.c = c
	m.page = &openmetrics.Handler{Reader: &export.Reader{Context: c}, Plain: openmetrics.PCP, Views: map[string]openmetrics.View{"node": nodeview.New}}
	return m.page, nil
}

func (m *metricsPage) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.c == nil {
		return nil
	}
	return m.c.Close()
}
