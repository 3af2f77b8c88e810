package pcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/hint"
	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Open opens a context on what the options name; see Source and OpenSource.
func (c *Command) Open(ctx context.Context, change ...func(*pmapi.Dialer)) (*pmapi.Context, error) {
	kind, name := c.Source()
	return c.OpenSource(ctx, kind, name, change...)
}

// OpenSource opens a context on a source, as Source or MetricSpec has it, with what the environment
// sets, see pmapi.DialerFromEnv, pmapi.ArchiveOptionsFromEnv and pmapi.Derived.LoadEnv, the name
// space of -n or -N, and the derived metrics of --derived. The functions given may change the
// Dialer of a host before it is used, for instance its AutoReconnect. With -D pdu the Dialer logs
// to Stderr, and each PDU is printed there. A setting of the environment that makes no sense is
// ignored and reported on Stderr.
//
// The context on an archive is at its start, in ModeForward.
//
// The error is an *ExitError: "Cannot connect to PMCD on host …", "Cannot open archive …" or
// LocalError. For a local context, its names are those of -n or -N, or of the default name space
// file. The counterpart of pmNewContext(3).
func (c *Command) OpenSource(ctx context.Context, kind pmapi.SourceKind, name string, change ...func(*pmapi.Dialer)) (*pmapi.Context, error) {
	switch kind {
	case pmapi.SourceArchive:
		return c.openArchive(ctx, name)
	case pmapi.SourceLocal:
		return c.openLocal()
	}
	return c.dial(ctx, name, change)
}

func (c *Command) openArchive(ctx context.Context, name string) (*pmapi.Context, error) {
	o, err := pmapi.ArchiveOptionsFromEnv()
	if err != nil {
		c.printRedirected(ArchiveOptionsError(err) + "\n")
	}
	o.Files.Damaged = c.DamagedArchive
	o.Names, o.TrimNames, o.Derived = c.Names(), c.TrimNames, c.Derived()
	c.opened = name
	pc, err := o.Open(ctx, name)
	if err != nil {
		message := fmt.Sprintf("%s: Cannot open archive \"%s\": %v\n", c.Name, name, Cause(err))
		return nil, &ExitError{Status: 1, Message: message, Err: err, hint: func() string { return hint.Archive(name, err) }}
	}
	return pc, nil
}

// DamagedArchive prints a warning about a damaged archive of a directory or a list. It returns nil,
// so that the others are read. It is an archive.Options.Damaged.
func (c *Command) DamagedArchive(err error) error {
	fmt.Fprintf(c.stderr(), "%s: Warning: %s\n", c.Name, terminal.Escape(strings.TrimPrefix(err.Error(), "archive: ")))
	return nil
}

func (c *Command) dial(ctx context.Context, host string, change []func(*pmapi.Dialer)) (*pmapi.Context, error) {
	d, err := pmapi.DialerFromEnv()
	if err != nil {
		c.printRedirected(fmt.Sprintf("%s: %v\n", c.Name, err))
	}
	d.Names, d.Derived = c.Names(), c.Derived()
	d.Container = cmp.Or(c.given.container, d.Container)
	d.AskLogin = askLogin
	if pmlog.DebugOn(c.Debug)["pdu"] {
		peer := hostspec.Redact(host)
		d.Trace = func(out bool, h pdu.Header, body []byte) {
			fmt.Fprintln(c.stderr(), pmlog.FormatPDU(out, peer, h, body))
		}
		d.Logger = slog.New(slog.NewTextHandler(c.stderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, f := range change {
		f(d)
	}
	pc, err := d.Dial(ctx, host)
	if err == nil {
		return pc, nil
	}
	e := &ExitError{Status: 1, Err: err, hint: func() string { return hint.Dial(host, err) }}
	if _, specErr := hostspec.Parse(host); specErr != nil {
		e.beginning = hostSyntaxError(specErr) + "\n"
		e.Message = e.beginning
	}
	if bad, ok := errors.AsType[*tlsconf.Error](err); ok {
		var text strings.Builder
		pmlog.New(&text, c.Name, slog.LevelInfo).Error(bad.Text) // in the words of C alone, as scripts compare them
		e.Message += text.String()
	}
	e.Message += fmt.Sprintf("%s: Cannot connect to PMCD on host \"%s\": %v\n", c.Name, hostspec.Redact(host), pdu.FromError(err))
	return nil, e
}
