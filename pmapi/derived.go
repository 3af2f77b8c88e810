package pmapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/derived"
)

// Derived holds definitions of derived metrics, which a context computes from other metrics that it
// fetches. A definition applies to all contexts that its Dialer or ArchiveOptions open later;
// Context.Derive defines a metric for a single context, at any time. The zero Derived is ready for
// use, and safe for concurrent use. In the C library, pmRegisterDerived(3) adds definitions.
//
//	d := new(pmapi.Derived)
//	err := d.Define("disk.util", "rate(disk.dev.avactive)")
//	...
//	c, err := (&pmapi.Dialer{Derived: d}).Dial(ctx, "web1.example.com")
//
// A context treats a derived metric like any other: it has a name, a descriptor, help texts and
// values, also in a Group.
//
// # Expressions
//
// An expression has numbers, names of metrics of the source, instances of them in brackets
// (kernel.all.load[1 minute]), functions, and these operators, from the loosest to the tightest,
// all evaluated from left to right:
//
//	guard ? a : b   && ||   !   < <= == >= > !=   + -   * /   -a
//
// Operands have units, semantics and instance domains, and combinations without a meaning are
// refused. Milliseconds and seconds are added in seconds. A counter can be divided only by a pure
// number. If both operands have instances, the result has the instances that occur in both.
//
//	avg count max min sum (name)     one value from all instances
//	delta rate (expr)                the change since the fetch before, and the change per second;
//	                                 for units of time the fraction of time
//	instant(expr)                    a counter as a plain value
//	scalar(expr)                     the first instance, as a metric without instances
//	rescale(expr, "units")           in other units of the same dimension
//	matchinst(/regexp/, expr)        the instances whose names, up to the first space, match;
//	                                 with ! before the regexp, the others
//	defined(name)                    1 if the metric exists, else 0
//	mkconst(number, type=double, semantics=instant, units="Kbyte / sec", indom=60.1,
//	        meta=disk.dev.read)      a number with at least one of these attributes; with an
//	                                 instance domain it is the value of each instance; meta is
//	                                 a metric that supplies the attributes that are not given
//	novalue(type=u64, meta=disk.dev.read)
//	                                 no value, only as an alternative of ? and :, with such
//	                                 attributes, those of the other alternative, or none
//
// The functions delta and rate have no value at the first fetch, nor at the first fetch after a new
// connection or SetMode. They continue across a mark of an archive, as in the C library. Like the
// rate of a Group, they have no value if a counter has decreased, no time has passed, or the clock
// was set back. A metric that is not a counter may have a negative change. An archive that is read
// backwards yields the same values as forwards. The C library treats any integer that has decreased
// as a counter that has wrapped.
//
// A guard that consists of numbers, defined, !, && and || chooses its alternative as soon as the
// metrics are known. The other alternative may name metrics that the source does not have, and may
// have another type, other semantics and other units:
//
//	defined(mem.util.available) ? mem.util.available : mem.util.free
//
// PCP 7 introduced such guards; delta, rate and instant of expressions other than names; novalue;
// and the attributes indom and meta. Everything else that the C library of PCP 6.0.3 refuses is
// refused here with the same text.
//
// # Names
//
// A metric of the source hides a derived metric of the same name. An expression cannot be computed
// if it names a metric that the source lacks, or another derived metric. There are two exceptions:
// the function defined, and missing metrics in the alternative that a guard does not choose.
// Contexts on collectors and on archives treat a metric with such an expression alike:
//
//   - Lookup fails with pdu.ErrName, and the error wraps a *DerivedError with the reason.
//   - Traverse and Children omit its name.
//   - Desc of its PMID fails with pdu.ErrBadDerive, and the values of Fetch with pdu.ErrPMID.
type Derived struct {
	// Refused, if not nil, is called when a context finds that an expression makes no sense with
	// the metrics of its source, such as a sum of bytes and seconds. Contexts call it while they
	// look up names, once for each metric until names change, and several contexts may call it
	// concurrently. It must not use the context. Set it before the first context is opened.
	Refused func(*DerivedError)

	set derived.Set
}

// A DerivedError says why an expression cannot be used. It wraps pdu.ErrBadDerive.
type DerivedError struct {
	Name, Expr string
	// Offset is the byte of Expr where the parser gave up, or -1 for an empty Expr. It is 0 if the
	// expression is well-formed but makes no sense with the metrics of the source.
	Offset int
	// Message is the text of the C library; it may be empty.
	Message string
	// Part is the innermost operation of Expr that makes no sense with the metrics of the source,
	// as the C library writes it; empty for other errors.
	Part string

	whole bool // it is about the whole of Expr, not a place in it
}

// Error returns the name, the expression, the place of the error in it, and the message.
func (e *DerivedError) Error() string {
	switch {
	case e.Part != "":
		return fmt.Sprintf("derived metric %s: %q: in %q: %s", e.Name, e.Expr, e.Part, e.Message)
	case e.whole:
		return fmt.Sprintf("derived metric %s: %q: %s", e.Name, e.Expr, e.Message)
	}
	err := derived.AddError{Name: e.Name, Expr: e.Expr, SyntaxError: derived.SyntaxError{Offset: e.Offset, Message: e.Message}}
	return err.Error()
}

// Unwrap returns pdu.ErrBadDerive.
func (e *DerivedError) Unwrap() error { return pdu.ErrBadDerive }

// Define defines a derived metric, which later contexts have. The error is a *DerivedError. The
// counterpart of pmRegisterDerivedMetric(3).
func (d *Derived) Define(name, expr string) error {
	return derivedError(d.set.Add(name, expr))
}

func derivedError(err error) error {
	if e, ok := errors.AsType[*derived.AddError](err); ok {
		return &DerivedError{Name: e.Name, Expr: e.Expr, Offset: e.Offset, Message: e.Message}
	}
	return err
}

// Load reads definitions from a file, or from all files below a directory:
//
//	# a comment
//	disk.util = rate(disk.dev.avactive)
//	disk.util(oneline) = "share of time that a disk was busy"
//	disk.util(helptext) = "which may have
//	several lines"
//
// A backslash at the end of a line continues the expression on the next line. A line "#control
// NAME=VALUE,..." sets options that PCP_DERIVED_CONTROL has not set; see LoadEnv.
//
// n is the number of metrics that Load defined. Load continues after a mistake. Its error joins one
// error for each mistake (errors.Join), which has the file, the line and the text of the C library.
// The counterpart of pmLoadDerivedConfig(3).
func (d *Derived) Load(path string) (n int, err error) {
	return d.set.Load(path)
}

// LoadEnv loads the files that the C library loads. The environment variable PCP_DERIVED_CONFIG
// lists files and directories, separated by colons; if it is empty, there are no files. If it is
// not set, LoadEnv loads the files below config/derived in PCP_VAR_DIR, which the environment or
// /etc/pcp.conf sets. Valid definitions count even if there is an error.
//
// First LoadEnv sets the options of PCP_DERIVED_CONTROL: NAME=VALUE, separated by commas. They
// apply to later definitions and to contexts that are opened later. The counterpart of
// pmSetDerivedControl(3) of PCP 7.
//
//	GLOBAL_LIMIT     how many metrics can be defined, -1 for no limit
//	CONTEXT_LIMIT    how many Context.Derive defines for one context, -1 for no limit
//	DEBUG_SYNTAX, DEBUG_SEMANTICS, DEBUG_EVAL
//	                 0 or 1, without effect
//	OPTION_NOVALUE   1 means that a metric that the source lacks has no values instead of an
//	                 error: it is of type U32, discrete, without units and instances
func (d *Derived) LoadEnv() error {
	if err := d.set.Control(os.Getenv("PCP_DERIVED_CONTROL"), true); err != nil {
		err = fmt.Errorf("PCP_DERIVED_CONTROL: %w", err)
		return errors.Join(err, d.loadEnv())
	}
	return d.loadEnv()
}

func (d *Derived) loadEnv() error {
	paths, ok := os.LookupEnv("PCP_DERIVED_CONFIG")
	if !ok {
		conf, err := pcpconf.Load("")
		if err != nil {
			return err
		}
		paths = filepath.Join(conf.Get("PCP_VAR_DIR"), "config", "derived")
		if _, err := os.Stat(paths); err != nil {
			return nil
		}
	}
	var errs []error
	for path := range strings.SplitSeq(paths, ":") {
		if path != "" {
			_, err := d.Load(path)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Derive defines a derived metric for this context, and for those that Dup makes of it. The error
// wraps a *DerivedError, and then the metric is not defined. A name in expr that the source does
// not have is no error, because the metric may appear later. Until then Lookup does not find the
// derived metric. The counterpart of pmAddDerivedMetric(3).
func (c *Context) Derive(ctx context.Context, name, expr string) error {
	return c.fail("derive", name, c.inTurn(ctx, func() error { return c.src.(*derivedOverlay).add(ctx, name, expr) }))
}
