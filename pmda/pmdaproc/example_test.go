package pmdaproc_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdaproc"
)

// A collector serves the command lines of processes. Root is a directory with a copy of their
// files, so that the values are known; without Root the processes are those of this machine.
func Example() {
	root, err := os.MkdirTemp("", "proc")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "proc", "4711")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		log.Fatal(err)
	}
	for name, text := range map[string]string{
		"cmdline": "sleep\x0060\x00",
		"stat":    "4711 (sleep) S 1 4711 4711 0 -1 0 0 0 0 0 7 3 0 0 20 0 1 0 500 0 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}

	processes, err := pmdaproc.New(&pmdaproc.Options{Root: root, NoAccessChecks: true})
	if err != nil {
		log.Fatal(err)
	}
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(processes); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	client, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	group := client.Group()
	args := pmapi.AddSet[string](group, "proc.psinfo.psargs")
	if _, err := group.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	for process, text := range args.All() {
		fmt.Printf("%d: %s\n", process.ID, text)
	}
	// Output: 4711: sleep 60
}
