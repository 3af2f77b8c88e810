package tool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// DebugArchive prints on Stderr, for an archive that is about to be opened, what the debug options
// log and logmeta show of that in the C library: its files and their labels, and the records of its
// metadata, as far as they can be read. It reads those again, and does nothing without the options.
// OpenSource calls it; it is for tools that open archives by themselves. Reads of values and the
// cache of the C library's interpolation are not shown, since this library reads in other pieces.
func (c *Command) DebugArchive(ctx context.Context, name string) {
	if len(c.Debug) == 0 {
		return
	}
	on := pmlog.DebugOn(c.Debug)
	if !on["log"] && !on["logmeta"] {
		return
	}
	d := fileDebug{w: c.stderr(), location: cmp.Or(c.Location, time.Local), names: on["log"], records: on["logmeta"]}
	for part := range strings.SplitSeq(name, ",") {
		files, err := archive.Options{}.Find(part)
		if err != nil {
			return // who opens it says so
		}
		for i := range files {
			d.archive(ctx, &files[i])
		}
	}
}

// A fileDebug prints what is in the files of archives.
type fileDebug struct {
	w              io.Writer
	location       *time.Location
	names, records bool
}

func (d *fileDebug) time(t time.Time) string { return t.In(d.location).Format("15:04:05.000000000") }

// archive prints one archive.
func (d *fileDebug) archive(ctx context.Context, f *archive.Files) {
	if len(f.Volumes) == 0 {
		return
	}
	first := f.Volumes[0].Path
	if d.names {
		for _, path := range f.Paths() {
			fmt.Fprintf(d.w, "__pmLogOpen: inspect file \"%s\"\n", path)
			if path == f.Meta || path == f.Index {
				d.open(path, path)
			}
		}
		d.open(first, fmt.Sprintf("%s.%d", f.Base, f.Volumes[0].Number))
	}
	d.file(ctx, first, debugFD)
	if d.names {
		fmt.Fprintf(d.w, "__pmLogChangeVol: change to volume %d\n", f.Volumes[0].Number)
	}
	if f.Index != "" {
		d.file(ctx, f.Index, debugFD+2)
	}
	if f.Meta != "" {
		d.file(ctx, f.Meta, debugFD+1)
	}
}

// open prints how a file is opened.
func (d *fileDebug) open(path, as string) {
	how := "no decompress"
	switch filepath.Ext(path) {
	case ".xz", ".lzma":
		how = "decompress: xz (on-the-fly)"
	case ".bz2", ".bz":
		how = "decompress: bzip2"
	case ".gz", ".Z", ".z":
		how = "decompress: gzip"
	case ".zst":
		how = "decompress: zstd"
	}
	fmt.Fprintf(d.w, "__pmFopen(\"%s\", \"r\"): %s\n", as, how)
}

// file prints the label of a file, and the records of one of metadata.
func (d *fileDebug) file(ctx context.Context, path string, fd int) {
	f, err := archive.Options{AnyFeature: true, Growing: true}.OpenFile(ctx, path)
	if err != nil {
		return
	}
	defer f.Close()
	if l, err := f.Label(); err == nil && d.names {
		zone := ""
		if l.ZoneInfo != "" {
			zone = " zoneinfo=" + l.ZoneInfo
		}
		fmt.Fprintf(d.w, "__pmLogChkLabel: fd=%d vol=%d [magic=0x500526%02d version=%d vol=%d pid=%d start=%s host=%s tz=%s%s]\n",
			fd, l.Volume, l.Version, l.Version, l.Volume, l.PID, d.time(l.Start), l.Host, l.TimeZone, zone)
	}
	if f.Volume() != archive.VolumeMeta || !d.records {
		return
	}
	for r, err := range f.Records() {
		if err != nil {
			return
		}
		if r.Kind != archive.KindLabel {
			d.record(r)
		}
	}
}

// metaTypes are the C library's names of the types of metadata records.
var metaTypes = map[int32]string{1: "DESC", 2: "INDOM_V2", 3: "LABEL_V2", 4: "TEXT", 5: "INDOM", 6: "INDOM_DELTA", 7: "LABEL"}

// record prints a record of metadata.
func (d *fileDebug) record(r *archive.Record) {
	kind := metaTypes[r.Type]
	fmt.Fprintf(d.w, "__pmLogLoadMeta: record len=%d, type=%s (%d) @ offset=%d\n", len(r.Raw), kind, r.Type, r.Offset)
	switch r.Kind {
	case archive.KindDesc:
		if m, err := r.Metric(); err == nil {
			for _, name := range m.Names {
				fmt.Fprintf(d.w, "__pmLogLoadMeta: PMID: %v name: %s\n", m.Desc.PMID, name)
			}
		}
	case archive.KindInDom, archive.KindInDomDelta:
		if i, err := r.InDom(); err == nil {
			fmt.Fprintf(d.w, "addindom( ..., %v, %s, type=%s, numinst=%d, alloc=0x4)\n", i.InDom, d.time(i.Time), kind, len(i.Instances)+len(i.Deleted))
		}
	case archive.KindLabels:
		if l, err := r.Labels(); err == nil {
			fmt.Fprintf(d.w, "addlabel( ..., %d, %d, %s, nsets=%d)\n", l.Class, l.Ident, d.time(l.Time), len(l.Sets))
		}
	case archive.KindText:
		if t, err := r.Text(); err == nil {
			d.text(&t)
		}
	}
}

// text prints a help text.
func (d *fileDebug) text(t *archive.TextRecord) {
	of, kind := pdu.PMID(t.Ident).String(), "ONELINE"
	if t.Kind&pdu.TextInDom != 0 {
		of = pdu.InDom(t.Ident).String() + " (indom)"
	}
	if t.Kind&pdu.TextHelp != 0 {
		kind = "HELP"
	}
	fmt.Fprintf(d.w, "addtext( ..., %s, %s)\n", of, kind)
}
