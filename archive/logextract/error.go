package logextract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

var (
	// ErrEmpty says that no input has data.
	ErrEmpty = errors.New("all input archives are empty")
	// ErrNoRecords is the error of a window or selection without any record.
	ErrNoRecords = errors.New("no qualifying records found")
)

// An InputError reports a problem with one input. As a warning, the input or the rest of it is
// skipped.
type InputError struct {
	// Op is what failed: "open" the input, where the error pdu.ErrNoData means an input without
	// data; find its "end", the last complete record; or "read" a record. An error of "read" is a
	// malformed record, or pdu.ErrLabel for a volume of another archive.
	Op      string
	Archive string
	Err     error // of "read", an *archive.Error with the offset
}

// Error says what is wrong.
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
	Used, Archive string // the inputs that agree and disagree with the output; Used is "" for a version
	Want, Got     string // what the output and Archive have
}

// Error says what is wrong.
func (e *MismatchError) Error() string {
	of := "the output"
	if e.Used != "" {
		of = "archive " + e.Used
	}
	return fmt.Sprintf("%s of archive %s is %q, that of %s %q", e.What, e.Archive, e.Got, of, e.Want)
}

// A ConflictError says that the inputs have different metadata. A help text is only a warning: the
// new one counts. With Options.SkipConflicts all are warnings.
type ConflictError struct {
	Subject string // such as "metric disk.dev.read", "metric PMID 60.0.4" or "instance domain 60.1"
	// What is "PMID", "name", "type", "indom", "semantics" or "units" of a metric, or "one line
	// text" or "help text" of either.
	What     string
	Old, New string
}

// Error says what is wrong.
func (e *ConflictError) Error() string {
	if strings.HasSuffix(e.What, "text") {
		return fmt.Sprintf("%s %s changed from %q to %q", e.Subject, e.What, e.Old, e.New)
	}
	return fmt.Sprintf("%s: %s changed from %s to %s!", e.Subject, e.What, e.Old, e.New)
}

// A SkippedError warns of the metrics that are left out after ConflictErrors, in their order.
type SkippedError struct{ IDs []pdu.PMID }

// Error says what is wrong.
func (e *SkippedError) Error() string { return fmt.Sprintf("%d metrics are left out", len(e.IDs)) }

// A SelectError warns of a metric or an instance to keep that no input has.
type SelectError struct {
	Metric Metric
	// Name is the name of a metric without the instances, or "" if Metric is unknown. Instance is
	// the unknown instance, or "" if no instance of Metric is left.
	Name, Instance string
	Err            error
}

// Error says what is wrong.
func (e *SelectError) Error() string {
	switch {
	case e.Name == "":
		return fmt.Sprintf("metric %q: %v", e.Metric.Name, e.Err)
	case e.Instance == "":
		return fmt.Sprintf("none of the instances for metric %q are valid", e.Name)
	}
	return fmt.Sprintf("instance %q is not defined for the metric %q", e.Instance, e.Name)
}

// Unwrap returns the cause, for an instance pdu.ErrInst.
func (e *SelectError) Unwrap() error { return e.Err }
