package pmdalinux_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdalinux"
)

// A collector serves the load of a machine. Root is a directory with a copy of its files, so that
// the values are known; without Root they are those of this machine.
func Example() {
	root, err := os.MkdirTemp("", "linux")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o755); err != nil {
		log.Fatal(err)
	}
	file := filepath.Join(root, "proc", "loadavg")
	if err := os.WriteFile(file, []byte("0.50 0.25 0.12 1/200 4711\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	linux, err := pmdalinux.New(pmdalinux.Options{Root: root})
	if err != nil {
		log.Fatal(err)
	}
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(linux); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	client, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	group := client.Group()
	load := pmapi.AddSet[float64](group, "kernel.all.load")
	if _, err := group.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	for average, value := range load.All() {
		fmt.Printf("%s: %.2f\n", average.Name, value)
	}
	// Output:
	// 1 minute: 0.50
	// 5 minute: 0.25
	// 15 minute: 0.12
}
