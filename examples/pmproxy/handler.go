package main

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// handler serves all paths: the receiver of archives, the metrics of this program, and the gateway.
func (o *options) handler(gw *webapi.Gateway) (_ http.Handler, closing func() error, err error) {
	var receiver *push.Receiver
	if o.push.Dir != "" {
		o.push.Metrics = gw.Metrics
		if receiver, err = o.push.Open(); err != nil {
			return nil, nil, err
		}
	}
	gw.MayConnect("localhost", 0) // which has the gateway register its metrics, for who reads them first
	c, err := local.Open(pmdammv.New(pmdammv.Options{Name: pmdammv.PMProxyName, Domain: pmdammv.PMProxyDomain, Registries: []*mmv.Registry{gw.Metrics}}))
	if err != nil {
		return nil, nil, err
	}
	own := &openmetrics.Handler{Reader: &export.Reader{Context: c, Names: []string{"pmproxy.gateway"}}}
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/metrics/gateway":
			own.ServeHTTP(w, r)
		case receiver != nil && strings.HasPrefix(r.URL.Path, "/logger/"):
			receiver.ServeHTTP(w, r)
		default:
			gw.ServeHTTP(w, r)
		}
	}
	closing = func() error {
		err := c.Close()
		if receiver != nil {
			err = errors.Join(err, receiver.Close())
		}
		return err
	}
	return webapi.Forwarded(http.HandlerFunc(handler), o.proxies), closing, nil
}
