package mmv

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Unfinished files older than staleAfter are taken for those of killed programs.
const staleAfter = time.Hour

// sweep removes unfinished files of earlier runs.
func (r *Registry) sweep() {
	left, err := filepath.Glob(filepath.Join(r.file.dir, "."+r.Name+".*"))
	if err != nil {
		return
	}
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
}

// clash looks whether a file in the directory has a metric with the PMID of one of ours. Agents
// would return the value of one for the other. With NoPrefix, several programs may share a metric
// on purpose: it then has the instances of all of them.
func (r *Registry) clash() error {
	entries, err := os.ReadDir(r.file.dir)
	if err != nil {
		return nil // Publish reports the problem when it writes the file
	}
	for _, e := range entries {
		path := filepath.Join(r.file.dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") || e.Name() == r.Name || clusterOf(path) != r.Cluster {
			continue
		}
		f, err := Open(path)
		if err != nil {
			continue
		}
		f.Close()
		for _, m := range f.Metrics {
			ours := r.items[m.Item]
			if ours == nil || r.NoPrefix && f.flags&flagNoPrefix != 0 && ours.name == m.Name {
				continue
			}
			return fmt.Errorf("mmv: metric %q has the PMID 70.%d.%d, and so has %q in %s: set Registry.Cluster",
				ours.name, r.Cluster, m.Item, m.Name, path)
		}
	}
	return nil
}

// clusterOf returns the cluster in the header of a file, or -1 if it is not an MMV file.
func clusterOf(path string) int {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return -1
	}
	f, err := os.Open(path)
	if err != nil {
		return -1
	}
	defer f.Close()
	var b [headerLen]byte
	if n, _ := f.ReadAt(b[:], 0); n < headerLen || string(b[:len(magic)]) != magic {
		return -1
	}
	return int(int32(native.Uint32(b[headerCluster:])))
}
