package pmapi

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// OpenSource opens a context on what a text names: on archives, as the function Open, if it is an
// absolute path or begins with a dot, or else on a collector, as Dial. So a program that watches a
// collector is tried on what was recorded by another string:
//
//	"web1.example.com"              the collector of that host
//	"/var/log/pcp/pmlogger/web1"    what was recorded of it
//	"./20261123.00.10"              an archive in this directory
//
// A text with a slash that names an archive but begins with no dot, such as "arch/web1", is an
// error.
//
// The options of d are for collectors alone, those of archives are the defaults; but Names and
// Derived are for both.
func (d *Dialer) OpenSource(ctx context.Context, source string) (*Context, error) {
	if isPath(source) {
		return ArchiveOptions{Names: d.Names, Derived: d.Derived}.Open(ctx, source)
	}
	if err := checkNoArchive(source); err != nil {
		return nil, &OpError{Op: "open", Err: err}
	}
	return d.Dial(ctx, source)
}

// checkNoArchive refuses the name of an archive that would be dialed as that of a host. Names
// without a slash are those of hosts even if there is such an archive.
func checkNoArchive(source string) error {
	if !strings.ContainsAny(source, `/`+string(filepath.Separator)) || strings.Contains(source, ":") {
		return nil
	}
	if files, err := (archive.Options{}).Find(source); err != nil || len(files) == 0 {
		return nil
	}
	return fmt.Errorf("%q is an archive: write %q: %w", source, "./"+source, pdu.ErrNotHost)
}

// isPath reports whether OpenSource opens archives.
func isPath(source string) bool { return filepath.IsAbs(source) || strings.HasPrefix(source, ".") }
