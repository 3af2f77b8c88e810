package pmafm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/archive"
)

// check prints for each archive whether its files exist and whether it is of the folio's host.
func (m *manager) check([]string) int {
	for _, a := range m.Archives {
		path := m.path(a.Base)
		var errs []string
		var host string
		for _, suffix := range []string{".index", ".meta", ".0"} {
			label, ok := fileLabel(path + suffix)
			if !ok {
				errs = append(errs, "No such file: "+path+suffix)
			}
			host = label.Host
		}
		if len(errs) == 0 && host != a.Host {
			errs = append(errs, fmt.Sprintf("Hostname mismatch: folio=%s archive=%s", a.Host, host))
		}
		if len(errs) == 0 {
			fmt.Printf("Archive: %s ... OK\n", path)
			continue
		}
		fmt.Printf("Archive: %s ... Errors\n", path)
		for _, e := range errs {
			fmt.Println("\t" + e)
		}
	}
	return 0
}

// fileLabel returns the label of a file of an archive, which may be compressed. ok is false if the
// file does not exist.
func fileLabel(path string) (label archive.Label, ok bool) {
	for _, suffix := range append([]string{""}, compressions...) {
		f, err := archive.Options{AnyFeature: true}.OpenFile(context.Background(), path+suffix)
		if err != nil {
			continue
		}
		label, err := f.Label()
		f.Close()
		if err == nil {
			return label, true
		}
	}
	return label, false
}

// compressions are the suffixes of compressed files.
var compressions = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// remove prints the command that removes all files of the folio.
func (m *manager) remove([]string) int {
	var b strings.Builder
	fmt.Fprintf(&b, "rm -f %s", m.name)
	if m.Config != "" { // whether it exists or not
		b.WriteString(" " + m.Config)
	}
	for _, a := range m.Archives {
		for _, suffix := range []string{".log", ".config", ".meta", ".index"} {
			b.WriteByte(' ') // even for a file that there is not
			if name := a.Base + suffix; a.Base != "" && m.exists(name) {
				b.WriteString(name)
			}
		}
		for _, name := range m.volumes(a.Base) {
			b.WriteString(" " + name)
		}
	}
	if m.dir != "" {
		fmt.Printf("( cd %s; %s )\n", m.dir, b.String())
	} else {
		fmt.Println(b.String())
	}
	return 0
}

func (m *manager) exists(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}

// volumes returns the names of an archive's data volumes, in the order of ls.
func (m *manager) volumes(base string) (names []string) {
	if base == "" {
		return nil
	}
	found, _ := archive.Options{}.Find(m.path(base))
	if len(found) != 1 {
		return nil
	}
	for _, v := range found[0].Volumes {
		name := v.Path
		if !filepath.IsAbs(base) {
			name = strings.TrimPrefix(name, m.dir)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
