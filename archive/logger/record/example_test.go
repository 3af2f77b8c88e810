package record_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/record"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// This example records what the program's own collector serves, and replays it.
func Example() {
	ctx := context.Background()
	customers := uint64(0)
	agent := &pmda.Agent{Name: "shop", Domain: 250}
	pmda.Register(agent, pmda.Metric[uint64]{
		Name: "shop.customers",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			customers += 10
			return customers, nil
		},
	})
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(agent); err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := record.Create(filepath.Join(dir, "shop.folio"), record.Options{
		Dial:   func(ctx context.Context, _ string) (*pmapi.Context, error) { return pmapi.Local(ctx, srv) },
		Logger: logger.Options{EndRecords: 3}, // most recordings end with Stop
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	shop, err := s.Add(record.Host{Name: "shop1", Config: "log mandatory on every 10 msec { shop }"})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		log.Fatal(err)
	}
	<-shop.Done()
	if err := shop.Err(); err != nil {
		log.Fatal(err)
	}

	replay, err := pmapi.Open(ctx, shop.Archive())
	if err != nil {
		log.Fatal(err)
	}
	defer replay.Close()
	group := replay.Group()
	recorded := pmapi.Add[uint64](group, "shop.customers")
	for _, err := range group.Every(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		if n, err := recorded.Value(); err == nil {
			fmt.Println(n)
		}
	}
	// Output:
	// 10
	// 20
	// 30
}
