package logextract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

var (
	// ErrEmpty means that no input has data.
	ErrEmpty = errors.New("all input archives are empty")
	// ErrNoRecords means that no record is within the window and the selection.
	ErrNoRecords = errors.New("no qualifying records found")
)

// An InputError reports a problem with one input. If it is a warning, the input or the rest of it
// is skipped.
type InputError struct {
	// Op is what failed: "open", "end" or "read". "open" with pdu.ErrNoData means an input without
	// data. "end" is the search for the last complete record. "read" means a malformed record or,
	// with pdu.ErrLabel, a volume of another archive.
	Op      string
	Archive string
	Err     error // for "read", an *archive.Error with the offset
}

// Error describes the problem.
func (e *InputError) Error() string {
	switch {
	case e.isEmpty():
		return fmt.Sprintf("empty archive %q will be skipped", e.Archive)
	case e.Op == "open":
		return fmt.Sprintf("cannot open archive %q: %v", e.Archive, e.Err)
	case e.Op == "end":
		return fmt.Sprintf("cannot get end of archive (%s): %v", e.Archive, e.Err)
	}
	return fmt.Sprintf("archive %s: %v", e.Archive, e.Err)
}

func (e *InputError) isEmpty() bool { return e.Op == "open" && errors.Is(e.Err, pdu.ErrNoData) }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// A MismatchError says that the label of an input contradicts that of another input or
// Options.Version. If What is "time zone", it is a warning.
type MismatchError struct {
	What          string // "version", "host" or "time zone"
	Used, Archive string // inputs that agree and disagree with the output; Used is "" for "version"
	Want, Got     string // the values of the output and of Archive
}

// Error describes the problem.
func (e *MismatchError) Error() string {
	of := "the output"
	if e.Used != "" {
		of = "archive " + e.Used
	}
	return fmt.Sprintf("%s of archive %s is %q, that of %s %q", e.What, e.Archive, e.Got, of, e.Want)
}

// A ConflictError says that the inputs have different metadata. For help texts it is only a
// warning, and the later text is used. With Options.SkipConflicts it is always a warning.
type ConflictError struct {
	Subject string // such as "metric disk.dev.read", "metric PMID 60.0.4" or "instance domain 60.1"
	// What is "PMID", "name", "type", "indom", "semantics" or "units" for a metric, and "one line
	// text" or "help text" for a metric or an instance domain.
	What     string
	Old, New string
}

// Error describes the problem.
func (e *ConflictError) Error() string {
	if strings.HasSuffix(e.What, "text") {
		return fmt.Sprintf("%s %s changed from %q to %q", e.Subject, e.What, e.Old, e.New)
	}
	return fmt.Sprintf("%s: %s changed from %s to %s!", e.Subject, e.What, e.Old, e.New)
}

// A SkippedError warns of the metrics omitted because of ConflictErrors, in the order of those.
type SkippedError struct{ IDs []pdu.PMID }

// Error describes the problem.
func (e *SkippedError) Error() string { return fmt.Sprintf("%d metrics are left out", len(e.IDs)) }

// A SelectError warns that no input has a metric or an instance to keep.
type SelectError struct {
	Metric Metric
	// Name is the full name of the metric, or "" if Metric is unknown. Instance is the unknown
	// instance, or "" if all instances of Metric are unknown.
	Name, Instance string
	Err            error
}

// Error describes the problem.
func (e *SelectError) Error() string {
	switch {
	case e.Name == "":
		return fmt.Sprintf("metric %q: %v", e.Metric.Name, e.Err)
	case e.Instance == "":
		return fmt.Sprintf("none of the instances for metric %q are valid", e.Name)
	}
	return fmt.Sprintf("instance %q is not defined for the metric %q", e.Instance, e.Name)
}

// Unwrap returns the cause: pdu.ErrInst for an instance.
func (e *SelectError) Unwrap() error { return e.Err }
