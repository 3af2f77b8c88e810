package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// A component is a file of the archive.
type component struct {
	name   string // in messages
	volume int
	path   string
	plain  string // the path if the file is not compressed
}

// components returns the files in the order of the checks. It includes missing volumes.
func (l *labeler) components() []component {
	var all []component
	paths := map[int]string{}
	for _, v := range l.files.Volumes {
		paths[v.Number] = v.Path
	}
	first, last := l.files.Volumes[0].Number, l.files.Volumes[len(l.files.Volumes)-1].Number
	missing := false
	for n := first; n <= last; n++ {
		path, ok := paths[n]
		if !ok && missing {
			continue // of a gap in the numbers, which may be large, the first one is enough
		}
		missing = !ok
		all = append(all, component{fmt.Sprintf("data volume %d", n), n, path, fmt.Sprintf("%s.%d", l.files.Base, n)})
	}
	if l.files.Index != "" {
		all = append(all, component{"temporal index", archive.VolumeIndex, l.files.Index, l.files.Base + ".index"})
	}
	return append(all, component{"metadata volume", archive.VolumeMeta, l.files.Meta, l.files.Base + ".meta"})
}

// checkAll checks all labels.
func (l *labeler) checkAll(ctx context.Context) {
	for _, c := range l.components() {
		if l.verbose {
			if c.volume == archive.VolumeMeta && l.files.Index == "" {
				fmt.Println("No temporal index found")
			}
			fmt.Println("Checking label on " + c.name)
		}
		label, err := c.label(ctx)
		if err != nil {
			l.status = statusBad
			fmt.Fprintf(os.Stderr, "Bad %s label: %v\n", c.name, pcptool.Cause(err))
			continue
		}
		if l.good == nil {
			l.good, l.goodIn = &label, c.name
		}
		if !l.rewrite || l.verbose {
			l.compare(&label, c.name)
		}
	}
}

// label reads and checks the label.
func (c *component) label(ctx context.Context) (archive.Label, error) {
	if c.path == "" {
		return archive.Label{}, pdu.FromError(os.ErrNotExist)
	}
	f, err := archive.Options{AnyFeature: true}.OpenFile(ctx, c.path)
	if err != nil {
		return archive.Label{}, err
	}
	defer f.Close()
	return f.Label()
}

// compare compares a label with the first one.
func (l *labeler) compare(label *archive.Label, name string) {
	for _, field := range [...]struct {
		what        string
		have, first any
	}{
		{"version", label.Version, l.good.Version},
		{"PID", label.PID, l.good.PID},
		{"hostname", label.Host, l.good.Host},
		{"timezone", label.TimeZone, l.good.TimeZone},
	} {
		if field.have != field.first {
			l.status = statusBad
			fmt.Fprintf(os.Stderr, "Mismatched %s (%v/%v) between %s and %s\n", field.what, field.have, field.first, name, l.goodIn)
		}
	}
}

// bestLabel returns the valid label, or a replacement without one.
func (l *labeler) bestLabel() archive.Label {
	if l.good != nil {
		return *l.good
	}
	none := archive.Label{Start: time.Unix(0, 0), Host: "(null)", TimeZone: "(null)"}
	for _, c := range l.components() {
		if version, ok := c.version(); ok {
			none.Version = version
			break
		}
	}
	return none
}

// version returns the version of a file whose label has another fault.
func (c *component) version() (version int, ok bool) {
	const magic = 0x50052600
	f, err := os.Open(c.path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var head [8]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return 0, false
	}
	word := binary.BigEndian.Uint32(head[4:])
	return int(word & 0xff), word&^0xff == magic
}
