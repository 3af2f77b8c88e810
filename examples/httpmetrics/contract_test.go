package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pcp-go/pcp/pmda/pmdammv"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestContract: the agent that exports the metrics keeps the contract of a Handler.
func TestContract(t *testing.T) {
	h := measure(http.NotFoundHandler())
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/order/1", nil))
	pmdatest.Run(t, pmdammv.Of(&reg))
}
