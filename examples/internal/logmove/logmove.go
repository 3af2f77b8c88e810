// Package logmove moves and copies the files of archives.
package logmove

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/filesys"
)

// The actions on a file.
const (
	Link   = "link"   // From gets another name, To
	Copy   = "copy"   // To becomes a copy of From
	Remove = "remove" // removes From
	Undo   = "undo"   // removes From, which an earlier action made
)

// A Step is one action.
type Step struct {
	Action   string
	From, To string // paths
	// Sums are the MD5 checksums of both files in hexadecimal digits, if they were compared.
	Sums [2]string
	// Err is the error of the action. It ends the work, unless the action was to remove a file.
	Err error
}

// Options say how to move and copy the files of archives, as archive.Options.Find finds them.
// The files keep what follows the base name, compressed ones also the suffix of the compression.
type Options struct {
	// Verify compares the checksums of each original and its copy, and reads the copy again for
	// that.
	Verify bool
	// DryRun changes nothing. Step reports the planned actions, with Link even for a file that a
	// real run would have to copy.
	DryRun bool
	// Step, if not nil, is called after each action, even after one that failed.
	Step func(Step)
}

// Move gives an archive another base name, which may be in another directory. It first links each
// file to its new name, or copies it to another file system. Then it removes the old names.
//
// If the first part fails or the context ends, Move removes the new files again, so that the
// archive is always complete under one name. Errors are *os.LinkError, with fs.ErrExist for a file
// that already exists. If Move cannot remove an old file, the error wraps *fs.PathError: the
// archive has its new name, and the other old files are removed.
func (o Options) Move(ctx context.Context, files archive.Files, base string) error {
	if err := o.makeAll(ctx, files, base, true); err != nil {
		return err
	}
	if !o.DryRun {
		// Make the new names safe from a crash before the old ones are removed.
		if err := filesys.SyncDir(filepath.Dir(base)); err != nil {
			return err
		}
	}
	return o.Remove(files)
}

// Copy copies an archive, as Move does.
func (o Options) Copy(ctx context.Context, files archive.Files, base string) error {
	return o.makeAll(ctx, files, base, false)
}

// Remove removes the files of an archive. If it cannot remove one, it continues with the next.
func (o Options) Remove(files archive.Files) error {
	var errs []error
	for _, path := range files.Paths() {
		s := Step{Action: Remove, From: path}
		if !o.DryRun {
			s.Err = os.Remove(path)
			errs = append(errs, s.Err)
		}
		o.report(s)
	}
	return errors.Join(errs...)
}

func (o *Options) report(s Step) {
	if o.Step != nil {
		o.Step(s)
	}
}

// makeAll makes all files under the new name, or none.
func (o *Options) makeAll(ctx context.Context, files archive.Files, base string, link bool) error {
	var made []string
	for _, path := range files.Paths() {
		s := Step{Action: Copy, From: path, To: base + filepath.Base(path)[len(filepath.Base(files.Base)):]}
		if link {
			s.Action = Link
		}
		err := context.Cause(ctx)
		if err == nil {
			err = o.make(ctx, &s)
		}
		if err != nil {
			s.Err = &os.LinkError{Op: s.Action, Old: s.From, New: s.To, Err: withoutPath(err)}
			o.report(s)
			return errors.Join(s.Err, o.undo(made))
		}
		made = append(made, s.To)
		o.report(s)
	}
	return nil
}

// make makes one file under its new name.
func (o *Options) make(ctx context.Context, s *Step) error {
	if _, err := os.Lstat(s.To); err == nil {
		return fs.ErrExist
	}
	if o.DryRun {
		return nil
	}
	if s.Action == Link {
		err := os.Link(s.From, s.To)
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			err = e.Err
		}
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
		s.Action = Copy
	}
	err := copyFile(ctx, s.From, s.To)
	if err != nil || !o.Verify {
		return err
	}
	for i, path := range []string{s.From, s.To} {
		if s.Sums[i], err = checksum(ctx, path); err != nil {
			break
		}
	}
	if err == nil && s.Sums[0] != s.Sums[1] {
		err = fmt.Errorf("checksums %s and %s differ", s.Sums[0], s.Sums[1])
	}
	if err != nil {
		os.Remove(s.To)
	}
	return err
}

// undo removes what was made.
func (o *Options) undo(made []string) error {
	if o.DryRun {
		return nil
	}
	var errs []error
	for _, path := range slices.Backward(made) {
		err := os.Remove(path)
		errs = append(errs, err)
		o.report(Step{Action: Undo, From: path, Err: err})
	}
	return errors.Join(errs...)
}

// copyFile copies a file, with its permissions, and has the system write the copy: the original may
// be removed then.
func copyFile(ctx context.Context, from, to string) error {
	in, err := filesys.OpenRegular(from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	return filesys.Copy(ctx, to, in, nil)
}

// checksum is the checksum of a file.
func checksum(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := md5.New()
	_, err = io.Copy(h, filesys.Reader(ctx, f))
	return hex.EncodeToString(h.Sum(nil)), err
}

// withoutPath returns err without the paths that an *os.LinkError has anyway.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
