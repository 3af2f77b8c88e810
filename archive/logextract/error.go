package logextract

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

var (
	// ErrEmpty says that no input has data.
	ErrEmpty = errors.New("all input archives are empty")
	// ErrNoRecords is the error of a window or selection without any record.
	ErrNoRecords = errors.New("no qualifying records found")
)

// An EmptyError warns of an input without data, which is skipped.
type EmptyError struct{ Archive string }

// Error says what is wrong.
func (e *EmptyError) Error() string {
	return fmt.Sprintf("empty archive %q will be skipped", e.Archive)
}

// An OpenError says that an input cannot be opened.
type OpenError struct {
	Archive string
	Err     error
}

// Error says what is wrong.
func (e *OpenError) Error() string {
	return fmt.Sprintf("cannot open archive %q: %v", e.Archive, e.Err)
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

// An EndError says that no complete record is found in an input. With Options.Desperate it is a
// warning.
type EndError struct {
	Archive string
	Err     error
}

// Error says what is wrong.
func (e *EndError) Error() string {
	return fmt.Sprintf("cannot get end of archive (%s): %v", e.Archive, e.Err)
}

// Unwrap returns the cause.
func (e *EndError) Unwrap() error { return e.Err }

// A VersionError says that an input has a higher version than the output may have.
type VersionError struct {
	Archive        string
	Version, Limit int
}

// Error says what is wrong.
func (e *VersionError) Error() string {
	return fmt.Sprintf("archive %s is of version %d, the output of %d", e.Archive, e.Version, e.Limit)
}

// A HostError says that the inputs are of different hosts.
type HostError struct{ First, FirstHost, Archive, Host string }

// Error says what is wrong.
func (e *HostError) Error() string {
	return fmt.Sprintf("archive %s is of host %q, archive %s of host %q", e.First, e.FirstHost, e.Archive, e.Host)
}

// A ZoneError warns of inputs with different time zones.
type ZoneError struct{ Used, UsedZone, Archive, Zone string }

// Error says what is wrong.
func (e *ZoneError) Error() string {
	return fmt.Sprintf("time zone %q of archive %s is used, %q of archive %s is not", e.UsedZone, e.Used, e.Zone, e.Archive)
}

// A ConflictError says that the inputs describe a metric differently. With Options.SkipConflicts it
// is a warning.
type ConflictError struct {
	ID       pdu.PMID
	Names    []string // empty if What is "name"
	What     string   // "PMID", "name", "type", "indom", "semantics" or "units"
	Old, New string
}

// Error says what is wrong.
func (e *ConflictError) Error() string {
	who := strings.Join(e.Names, ", ")
	if e.What == "name" {
		who = "PMID " + e.ID.String()
	}
	return fmt.Sprintf("metric %s: %s changed from %s to %s!", who, e.What, e.Old, e.New)
}

// A SkippedError warns of the metrics that are left out after ConflictErrors, in their order.
type SkippedError struct{ IDs []pdu.PMID }

// Error says what is wrong.
func (e *SkippedError) Error() string { return fmt.Sprintf("%d metrics are left out", len(e.IDs)) }

// A PrefixError warns of a metric with a name that is above the names of other metrics. All of them
// are in the output, but programs find some of them by their PMIDs alone.
type PrefixError struct {
	Name  string
	Below []string // ascending; a name below several metrics is listed for the nearest
}

// Error says what is wrong.
func (e *PrefixError) Error() string {
	which := fmt.Sprintf("%q", e.Below[0])
	if n := len(e.Below) - 1; n > 0 {
		which += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("metric %q is above %s in the name space: rename one of them with pmlogrewrite", e.Name, which)
}

// A TextError warns of a help text that differs between inputs. The new one counts.
type TextError struct {
	Kind     pdu.TextKind
	Ident    uint32
	Old, New string
}

// Error says what is wrong.
func (e *TextError) Error() string {
	ident, which := "metric PMID "+pdu.PMID(e.Ident).String(), "one line"
	if e.Kind&pdu.TextInDom != 0 {
		ident = "instance domain " + pdu.InDom(e.Ident).String()
	}
	if e.Kind&pdu.TextHelp != 0 {
		which = "help"
	}
	return fmt.Sprintf("%s %s text changed from %q to %q", ident, which, e.Old, e.New)
}

// A DamageError warns of a malformed record, or of a volume of another archive, whose error is
// pdu.ErrLabel. The rest of the input is left out.
type DamageError struct {
	Archive string
	Offset  int64 // in the volume
	Size    int64 // of the volume
	Err     error
}

// Error says what is wrong.
func (e *DamageError) Error() string {
	return fmt.Sprintf("archive %s: at offset %d of %d: %v", e.Archive, e.Offset, e.Size, e.Err)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// A MissingError warns of a metric in a data record of an input that no input describes. The output
// has the record without it. There is one warning for each metric.
type MissingError struct {
	Archive string
	ID      pdu.PMID
}

// Error says what is wrong.
func (e *MissingError) Error() string {
	return fmt.Sprintf("archive %s: no descriptor of metric %v, its values are left out", e.Archive, e.ID)
}

// A VolumeNotice tells of another volume of the output.
type VolumeNotice struct {
	Volume int
	Time   time.Time // of its first record
}

// Error says what is wrong.
func (n *VolumeNotice) Error() string {
	return fmt.Sprintf("volume %d begins at %v", n.Volume, n.Time.UTC())
}
