package pmapi

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// OpenSource opens a context on the source that a text names. An absolute path or a text that
// begins with a dot names archives, as for the function Open. Any other text names a collector, as
// for Dial. So a program for a collector reads recorded values if only this text is changed:
//
//	"web1.example.com"              the collector of that host
//	"/var/log/pcp/pmlogger/web1"    the archive of that host
//	"./20261123.00.10"              an archive in this directory
//
// A text with a slash that names an archive but begins with no dot, such as "arch/web1", is an
// error.
//
// The options of d apply only to collectors, and archives have the default options. Only Names and
// Derived apply to both.
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
