package webapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A collector, its agent and the gateway run in one process. A client reads a value as JSON.
func ExampleGateway() {
	agent := &pmda.Agent{Name: "cache", Domain: 251}
	err := pmda.Register(agent, pmda.Metric[uint64]{
		Name: "cache.hits", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 42, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	srv := &collector.Server{}
	if err := srv.Add(agent); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	gw := &webapi.Gateway{Dialer: &pmapi.Dialer{DialContext: srv.DialContext}}
	defer gw.Close()
	server := httptest.NewServer(gw)
	defer server.Close()

	resp, err := http.Get(server.URL + "/pmapi/fetch?names=cache.hits")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	var reply struct {
		Values []struct {
			Name      string
			Instances []struct{ Value uint64 }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		log.Fatal(err)
	}
	for _, metric := range reply.Values {
		fmt.Println(metric.Name, metric.Instances[0].Value)
	}
	// Output: cache.hits 42
}
