package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A drive has the data of a disk.
type drive struct{ reads uint64 }

// The disks of this agent come and go. Each disk keeps its ID, even when the agent is restarted.
func ExampleCache() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "400.0") // or "/var/lib/pcp/config/pmda/400.0"

	// Two runs of the agent:
	for _, plugged := range [][]string{{"sda", "sdb", "sdc"}, {"sdd", "sdc"}} {
		disks := &pmda.Cache[*drive]{File: file}
		if _, err := disks.Load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			log.Println(err)
		}
		a := &pmda.Agent{Name: "drives", Domain: 400}
		d := &pmda.InDom{Name: "disk", Cache: disks}
		a.Attach(d)
		pmda.Register(a, pmda.Metric[uint64]{
			Name:  "drives.reads",
			InDom: d,
			Value: func(ctx context.Context, r *pmda.Request, i pdu.Instance) (uint64, error) {
				e, ok := disks.Lookup(i.ID)
				if !ok {
					return 0, pmda.NoValue // the disk has just been removed
				}
				return e.Value.reads, nil
			},
		})
		for _, name := range plugged {
			disks.Add(name, &drive{reads: 7})
		}
		disks.Hide("sdb") // clients do not see it, and it keeps its ID
		if _, err := disks.Save(); err != nil {
			log.Println(err)
		}
		fmt.Println(d.Instances())
	}
	// Output:
	// [{0 sda} {2 sdc}]
	// [{2 sdc} {3 sdd}]
}
