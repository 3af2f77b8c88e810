package main

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
	actionLink   = "link"   // from gets another name, to
	actionCopy   = "copy"   // to becomes a copy of from
	actionRemove = "remove" // removes from
	actionUndo   = "undo"   // removes from, which an earlier action made
)

// A moveStep is one action.
type moveStep struct {
	action   string
	from, to string // paths
	// sums are the MD5 checksums of both files in hexadecimal digits, if they were compared.
	sums [2]string
	// err is the error of the action. It ends the work, unless the action was to remove a file.
	err error
}

// moveOptions say how to move and copy the files of archives, as archive.Options.Find finds them.
// The files keep what follows the base name, compressed ones also the suffix of the compression.
type moveOptions struct {
	// verify compares the checksums of each original and its copy, and reads the copy again for
	// that.
	verify bool
	// dryRun changes nothing. step reports the planned actions. It reports actionLink even for a
	// file that a real run would have to copy.
	dryRun bool
	// step, if not nil, is called after each action, even after one that failed.
	step func(moveStep)
}

// move gives an archive another base name, which may be in another directory. It first links each
// file to its new name, or copies it to another file system. Then it removes the old names.
//
// If the first part fails or the context ends, move removes the new files again, so that the
// archive is always complete under one name. Errors are *os.LinkError, with fs.ErrExist for a file
// that already exists. If move cannot remove an old file, the error wraps *fs.PathError: the
// archive has its new name, and the other old files are removed.
func (o moveOptions) move(ctx context.Context, files archive.Files, base string) error {
	if err := o.makeAll(ctx, files, base, true); err != nil {
		return err
	}
	if !o.dryRun {
		// Make the new names safe from a crash before the old ones are removed.
		if err := filesys.SyncDir(filepath.Dir(base)); err != nil {
			return err
		}
	}
	return o.remove(files)
}

// copy copies an archive, as move does.
func (o moveOptions) copy(ctx context.Context, files archive.Files, base string) error {
	return o.makeAll(ctx, files, base, false)
}

// remove removes the files of an archive. If it cannot remove one, it continues with the next.
func (o moveOptions) remove(files archive.Files) error {
	var errs []error
	for _, path := range files.Paths() {
		s := moveStep{action: actionRemove, from: path}
		if !o.dryRun {
			s.err = os.Remove(path)
			errs = append(errs, s.err)
		}
		o.report(s)
	}
	return errors.Join(errs...)
}

func (o *moveOptions) report(s moveStep) {
	if o.step != nil {
		o.step(s)
	}
}

// makeAll makes all files under the new name, or none.
func (o *moveOptions) makeAll(ctx context.Context, files archive.Files, base string, link bool) error {
	var made []string
	for _, path := range files.Paths() {
		s := moveStep{action: actionCopy, from: path, to: base + filepath.Base(path)[len(filepath.Base(files.Base)):]}
		if link {
			s.action = actionLink
		}
		err := context.Cause(ctx)
		if err == nil {
			err = o.make(ctx, &s)
		}
		if err != nil {
			s.err = &os.LinkError{Op: s.action, Old: s.from, New: s.to, Err: withoutPath(err)}
			o.report(s)
			return errors.Join(s.err, o.undo(made))
		}
		made = append(made, s.to)
		o.report(s)
	}
	return nil
}

// make makes one file under its new name.
func (o *moveOptions) make(ctx context.Context, s *moveStep) error {
	if _, err := os.Lstat(s.to); err == nil {
		return fs.ErrExist
	}
	if o.dryRun {
		return nil
	}
	if s.action == actionLink {
		err := os.Link(s.from, s.to)
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			err = e.Err
		}
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
		s.action = actionCopy
	}
	err := copyFile(ctx, s.from, s.to)
	if err != nil || !o.verify {
		return err
	}
	for i, path := range []string{s.from, s.to} {
		if s.sums[i], err = checksum(ctx, path); err != nil {
			break
		}
	}
	if err == nil && s.sums[0] != s.sums[1] {
		err = fmt.Errorf("checksums %s and %s differ", s.sums[0], s.sums[1])
	}
	if err != nil {
		os.Remove(s.to)
	}
	return err
}

// undo removes what was made.
func (o *moveOptions) undo(made []string) error {
	if o.dryRun {
		return nil
	}
	var errs []error
	for _, path := range slices.Backward(made) {
		err := os.Remove(path)
		errs = append(errs, err)
		o.report(moveStep{action: actionUndo, from: path, err: err})
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
