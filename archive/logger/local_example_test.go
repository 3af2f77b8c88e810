package logger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda"
)

// A logger records agents in the same process, without a collector. With the agent that
// pmdalinux.New returns it records this computer.
func Example_local() {
	const requests = `
log mandatory on once { shop.version }
log mandatory on 10 msec { shop.orders["card"] }
`
	agent := &pmda.Agent{Name: "shop", Domain: 400}
	payments := agent.AddInDom("payment", "card", "cash")
	pmda.Register(agent, pmda.Metric[string]{
		Name:  "shop.version",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return "1.2", nil },
	})
	orders := uint64(0)
	pmda.Register(agent, pmda.Metric[uint64]{
		Name: "shop.orders", InDom: payments, Sem: pdu.SemCounter,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			orders++
			return orders, nil
		},
	})
	dir, err := os.MkdirTemp("", "logger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "shop")

	src, err := local.Open(agent)
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	ctx := context.Background() // most loggers run until their context ends
	if err := logger.Run(ctx, src, logger.Options{Config: requests, Base: base, EndRecords: 4}); err != nil {
		log.Fatal(err)
	}

	pc, err := pmapi.Open(ctx, base)
	if err != nil {
		log.Fatal(err)
	}
	defer pc.Close()
	g := pc.Group()
	version := pmapi.Add[string](g, "shop.version")
	recorded := pmapi.AddSet[uint64](g, "shop.orders", pmapi.Scale("instant"))
	for _, err := range g.Every(ctx, 0) { // each record
		if err != nil {
			log.Fatal(err)
		}
		if v, err := version.Value(); err == nil {
			fmt.Println("version", v)
		}
		for payment, n := range recorded.All() {
			fmt.Println(payment.Name, n)
		}
	}
	// Output:
	// version 1.2
	// card 1
	// card 2
	// card 3
}
