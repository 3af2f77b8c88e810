package main

import (
	"context"
	"fmt"
	"os"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// writeAll writes the changed label to all files.
func (l *labeler) writeAll() {
	if l.good == nil {
		l.status = statusFailed
		fmt.Fprintln(os.Stderr, "No file has a label that could be written to the others")
		return
	}
	label := *l.good
	if l.pid != 0 {
		label.PID = l.pid
	}
	hostLen, zoneLen := 63, 39 // of version 2
	if label.Version == 3 {
		hostLen, zoneLen = 255, 255
	}
	if l.host != "" {
		label.Host = l.host[:min(len(l.host), hostLen)]
	}
	if l.zone != "" {
		label.TimeZone, label.ZoneInfo = l.zone[:min(len(l.zone), zoneLen)], "" // which says the same in another form
	}
	for _, c := range l.components() {
		if l.verbose {
			fmt.Println("Writing label on " + c.name)
		}
		label.Volume = c.volume
		if what, err := c.write(label); err != nil {
			l.status = statusFailed
			fmt.Fprintf(os.Stderr, "Failed %s %s: %v\n", c.name, what, pcptool.Cause(err))
		}
	}
	l.good = &label
}

// write overwrites the label of the file. On error, what names the failed step.
func (c *component) write(label archive.Label) (what string, err error) {
	b, err := label.Append(nil)
	if err != nil {
		return "label write", err
	}
	f, err := os.OpenFile(c.plain, os.O_WRONLY, 0)
	if err != nil {
		return "open", err // also of a compressed file, which has another name
	}
	// A label of another version has another length. Writing it would leave a part of the old one
	// or overwrite records.
	if old, err := c.label(context.Background()); err == nil && old.Len() != label.Len() {
		f.Close()
		return "label write", pdu.ErrLabel
	}
	if _, err = f.WriteAt(b, 0); err != nil {
		f.Close()
		return "label write", err
	}
	return "label write", f.Close()
}
