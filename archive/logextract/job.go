package logextract

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A Job is an extraction with its inputs open, for programs that look at them before it runs;
// others use Options.Run. Call Open, Select, Create, Run and Close in this order. A Job is for one
// goroutine at a time.
type Job struct {
	Options // may be changed until Run

	inputs []*input  // inputs that have data
	last   time.Time // end of the latest input
	picks  map[pdu.PMID]*pick
	output string
	label  archive.Label
	begun  bool // the output has records
}

// An input is an input archive.
type input struct {
	name  string
	set   *archive.Set
	label archive.Label
	end   time.Time
	cur   *archive.Cursor

	state   inputState
	rec     archive.Record // pending
	time    time.Time      // of the pending record or mark
	read    time.Time      // time of the last record read
	session session

	shape shape  // of rec
	buf   []byte // of rec, if it was repacked
}

// Open opens the inputs. An input without data is skipped with a warning; if no input has data, the
// error is ErrEmpty. Other errors are *InputError. If a name stands for several archives, these
// errors are warnings: an archive that cannot be opened is skipped, and one whose end cannot be
// found is read up to its damage.
func (o Options) Open(ctx context.Context, names []string) (*Job, error) {
	j := &Job{Options: o}
	for _, name := range names {
		if err := j.open(ctx, name); err != nil {
			j.Close()
			return nil, err
		}
	}
	if len(j.inputs) == 0 {
		return nil, ErrEmpty
	}
	return j, nil
}

// open opens the archives that a name stands for. Each is an input.
func (j *Job) open(ctx context.Context, name string) error {
	bases := []string{name}
	if found, err := (archive.Options{}).Find(name); err == nil && len(found) > 1 {
		bases = bases[:0]
		for _, f := range found {
			bases = append(bases, f.Base)
		}
	}
	for _, base := range bases {
		err := j.openOne(ctx, base, j.Desperate || len(bases) > 1)
		if e, ok := errors.AsType[*InputError](err); ok && e.Op == "open" && len(bases) > 1 && ctx.Err() == nil {
			j.warn(err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openOne opens one archive. A missing end or a damaged index is an error, or a warning if
// mayBeDamaged is set. An empty index is always a warning, because the archive may have data.
func (j *Job) openOne(ctx context.Context, name string, mayBeDamaged bool) error {
	set, err := archive.Open(ctx, name)
	if e, ok := errors.AsType[*archive.Error](err); ok && isIndex(e.File) && (mayBeDamaged || errors.Is(err, pdu.ErrNoData)) {
		j.warn(fmt.Errorf("%w: the archive is read without its index", err))
		set, err = archive.Options{NoIndex: true}.Open(ctx, name)
	}
	switch {
	case errors.Is(err, pdu.ErrNoData):
		j.warn(&InputError{"open", name, err})
		return nil
	case err != nil:
		return &InputError{"open", name, err}
	}
	in := &input{name: name, set: set, label: set.Label(), cur: set.Cursor()}
	j.inputs = append(j.inputs, in)
	end, err := set.End()
	if err != nil {
		if !mayBeDamaged {
			return &InputError{"end", name, err}
		}
		j.warn(&InputError{"end", name, err})
		end = endless
	}
	in.end = end
	if end.After(j.last) {
		j.last = end
	}
	return nil
}

// isIndex reports whether a file is the index of an archive, which may be compressed.
func isIndex(path string) bool {
	base := filepath.Base(path)
	return strings.HasSuffix(base, ".index") || strings.Contains(base, ".index.")
}

// endless is after the end of all archives.
var endless = time.Unix(1<<40, 0)

func (j *Job) warn(err error) {
	if j.Warn != nil {
		j.Warn(err)
	}
}

// Close closes the inputs. With Desperate it also creates the files of an output without records.
func (j *Job) Close() error {
	var errs []error
	for _, in := range j.inputs {
		errs = append(errs, in.set.Close())
	}
	j.inputs = nil
	if j.Desperate && j.output != "" && !j.begun {
		errs = append(errs, j.leaveFiles())
	}
	return errors.Join(errs...)
}

// leaveFiles creates the files of an archive without records. They have labels if Create made one,
// or are empty.
func (j *Job) leaveFiles() error {
	var errs []error
	for volume, suffix := range map[int]string{archive.VolumeIndex: ".index", archive.VolumeMeta: ".meta", 0: ".0"} {
		var b []byte
		if j.label.Volume = volume; volume < 0 && j.label.Version != 0 {
			j.label.PID = int32(os.Getpid())
			b, _ = j.label.Append(nil)
		}
		errs = append(errs, os.WriteFile(j.output+suffix, b, 0o666))
	}
	return errors.Join(errs...)
}

// Label returns the label of the first input.
func (j *Job) Label() archive.Label { return j.inputs[0].label }

// Bounds returns the start and the end of the first input. The time options of pmlogextract(1) are
// relative to them.
func (j *Job) Bounds() (start, end time.Time) { return j.inputs[0].label.Start, j.inputs[0].end }

// Create checks that the output can be written: the archive must not exist (fs.ErrExist), and the
// labels of the inputs must be compatible (*MismatchError).
func (j *Job) Create(output string) error {
	for i, suffix := range []string{".index", ".meta", ".0"} {
		path := output + suffix
		if _, err := os.Lstat(path); err == nil {
			return &archive.Error{File: path, Offset: -1, Record: -1, Err: fs.ErrExist}
		}
		if i > 0 {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err == nil {
			err = errors.Join(f.Close(), os.Remove(path))
		}
		if err != nil {
			return &archive.Error{File: path, Offset: -1, Record: -1, Err: withoutPath(err)}
		}
	}
	j.output = output
	return j.makeLabel()
}

func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// makeLabel makes the label of the output and compares the labels of the inputs with it.
func (j *Job) makeLabel() error {
	used := j.inputs[len(j.inputs)-1]
	if j.FirstZone {
		used = j.inputs[0]
	}
	version := j.Version
	for _, in := range j.inputs {
		if j.Version == 0 {
			version = max(version, in.label.Version)
		} else if in.label.Version > j.Version {
			return &MismatchError{"version", "", in.name, strconv.Itoa(j.Version), strconv.Itoa(in.label.Version)}
		}
	}
	first := j.inputs[0]
	j.label = archive.Label{Version: version, Start: first.label.Start, Host: first.label.Host, TimeZone: used.label.TimeZone, ZoneInfo: used.label.ZoneInfo}
	if version == 2 {
		j.label.ZoneInfo = ""
	}
	for _, in := range j.inputs {
		if in.label.Host != first.label.Host {
			j.label = archive.Label{}
			return &MismatchError{"host", first.name, in.name, first.label.Host, in.label.Host}
		}
		if in.label.TimeZone != used.label.TimeZone {
			j.warn(&MismatchError{"time zone", used.name, in.name, used.label.TimeZone, in.label.TimeZone})
		}
	}
	return nil
}
