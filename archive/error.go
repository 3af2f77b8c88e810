package archive

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// An Error reports a problem and its place in a file. It wraps the pdu.Error that the C library
// returns for the problem:
//
//	pdu.ErrNoData      a file has no record, or none but the label
//	pdu.ErrLabel       a label is malformed, or is that of another archive
//	pdu.ErrFeature     a label has features that are not known
//	pdu.ErrLogFile     a file of the archive is missing
//	pdu.ErrLogRec      a record is malformed
//	pdu.ErrRecType     a metadata record has a type that is not known
//	pdu.ErrLogHost     archives of a set are of different hosts
//	pdu.ErrLogOverlap  archives of a set overlap in time
//	pdu.ErrLogChange*  a metric has different descriptors
//
// An error of the file system is wrapped unchanged, such as fs.ErrNotExist, which is also the error
// for a path that does not name a file of an archive. A directory without an archive is
// pdu.ErrLogFile. The error about an incomplete record also wraps io.ErrUnexpectedEOF: if the
// archive is being written, a later read may succeed.
type Error struct {
	File   string // the path of the file, or the name that was opened
	Offset int64  // where the record starts; -1 if the error is not about a record
	Record int    // number of the record in the file, 0 for the label; -1 if unknown
	Err    error
}

// Error returns the file, the place if it is known, and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("archive: ")
	b.WriteString(e.File)
	b.WriteString(": ")
	if e.Record >= 0 {
		b.WriteString("record " + strconv.Itoa(e.Record))
		if e.Offset >= 0 {
			b.WriteByte(' ')
		} else {
			b.WriteString(": ")
		}
	}
	if e.Offset >= 0 {
		b.WriteString("at offset " + strconv.FormatInt(e.Offset, 10) + ": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// A flaw is a problem with the error code that the C library returns for it.
type flaw struct {
	text string
	code pdu.Error
	cut  bool // the end of the record is missing
}

func (f *flaw) Error() string { return f.text + ": " + f.code.Error() }

func (f *flaw) Unwrap() []error {
	if f.cut {
		return []error{f.code, io.ErrUnexpectedEOF}
	}
	return []error{f.code}
}

// flawed returns the error for a code.
func flawed(code pdu.Error, format string, args ...any) error {
	return &flaw{text: fmt.Sprintf(format, args...), code: code}
}

// cutShort returns the error for an incomplete record.
func cutShort(code pdu.Error, format string, args ...any) error {
	return &flaw{text: fmt.Sprintf(format, args...), code: code, cut: true}
}

// inFile adds the file to err, unless err already has one. It returns nil if err is nil.
func inFile(file string, err error) error { return inRecord(file, -1, -1, err) }

// inRecord adds the file and the record to err, unless err already has them. It returns nil if err
// is nil.
func inRecord(file string, offset int64, record int, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{File: file, Offset: offset, Record: record, Err: err}
}
