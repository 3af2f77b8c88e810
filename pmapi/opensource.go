package pmapi

import (
	"context"
	"path/filepath"
	"strings"
)

// OpenSource opens a context on what a text names: on archives, as the function Open, if it is an absolute path or begins with
// a dot, or else on a collector, as Dial. So a program that watches a collector is tried on what was recorded by another string:
//
//	"web1.example.com"              the collector of that host
//	"/var/log/pcp/pmlogger/web1"    what was recorded of it
//	"./20261123.00.10"              an archive in this directory
//
// The options of d are for collectors alone, those of archives are the defaults; but Names and Derived are for both.
func (d *Dialer) OpenSource(ctx context.Context, source string) (*Context, error) {
	if isPath(source) {
		return ArchiveOptions{Names: d.Names, Derived: d.Derived}.Open(ctx, source)
	}
	return d.Dial(ctx, source)
}

// isPath reports whether OpenSource opens archives.
func isPath(source string) bool { return filepath.IsAbs(source) || strings.HasPrefix(source, ".") }
