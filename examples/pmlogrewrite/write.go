package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logrewrite"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
)

// write writes the archive that a plan makes.
func (r *rewriter) write(ctx context.Context, c *pcptool.Command, set *archive.Set, plan *logrewrite.Plan) error {
	if r.inPlace {
		return r.report(c, set, plan.WriteInPlace(ctx))
	}
	version := max(r.Version, set.Label().Version)
	if err := r.checkOutput(c, set, version); err != nil {
		return err
	}
	err := plan.Write(ctx, r.out)
	if err == nil {
		return nil
	}
	return r.report(c, set, err)
}

// checkOutput checks that the files of the output do not exist and can be made, in the order in
// which PCP's tool makes them.
func (r *rewriter) checkOutput(c *pcptool.Command, set *archive.Set, version int) error {
	failed := func(err error) error {
		return c.Errorf("Error: __pmLogCreate(%s,v%d): %w", r.out, version, pcptool.Cause(err))
	}
	for _, suffix := range []string{".index", ".meta", fmt.Sprint(".", set.Archives()[0].Files().Volumes[0].Number)} {
		path := r.out + suffix
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			fmt.Fprintf(os.Stderr, "__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
			return failed(err)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "__pmLogNewFile: failed to create \"%s\": %v\n", path, pcptool.Cause(err))
			return failed(err)
		}
		f.Close()
		if err := os.Remove(path); err != nil {
			return failed(err)
		}
	}
	return nil
}

// report returns the error of an archive that was not written.
func (r *rewriter) report(c *pcptool.Command, set *archive.Set, err error) error {
	if err == nil {
		return nil
	}
	message := ""
	read, ok := errors.AsType[*logrewrite.ReadError](err)
	convert, isConvert := errors.AsType[*logrewrite.ConvertError](err)
	switch {
	case ok && read.Meta:
		message = fmt.Sprintf("%s: Error: pmaGetLog[meta %s]: %v\n", c.Name, r.in, pcptool.Cause(read.Err))
	case ok:
		message = fmt.Sprintf("%s: Error: __pmLogRead[log %s]: %v\n", c.Name, r.in, pcptool.Cause(read.Err))
	case isConvert:
		message = fmt.Sprintf("%s: %v\n", c.Name, convert) + terminal.Escape(dumpRecord(set, convert.Record))
	default:
		message = fmt.Sprintf("%s: Error: %v\n", c.Name, err)
	}
	if place, isPlace := errors.AsType[*archive.Error](err); ok && isPlace {
		message += r.place(c, place)
	}
	if !r.inPlace {
		outcome := "not created"
		if r.Desperate {
			outcome = "creation truncated"
		}
		message += fmt.Sprintf("Archive \"%s\" %s.\n", r.out, outcome)
	}
	return &pcptool.ExitError{Status: 1, Message: message, Err: err}
}

// place returns the position of an error in a file: the start of an incomplete record. For a
// malformed record it is the end of the file, as PCP's tool prints it.
func (r *rewriter) place(c *pcptool.Command, e *archive.Error) string {
	f, err := archive.Options{}.OpenFile(context.Background(), e.File)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return ""
	}
	at := e.Offset
	if !errors.Is(e, io.ErrUnexpectedEOF) {
		at = size
	}
	text := fmt.Sprintf("%s: Error occurred at byte offset %d into a file of %d bytes.\n", c.Name, at, size)
	if r.Desperate {
		text += "The last record, and the remainder of this file will not be processed.\n"
	}
	return text
}
