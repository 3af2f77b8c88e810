package archive

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

	"github.com/pcp-go/pcp/internal/filesys"
	"github.com/pcp-go/pcp/pdu"
)

// Paths returns the paths of all files, in the order that a program should move them in. The
// metadata is last, because without it there is no archive.
func (f *Files) Paths() []string {
	paths := make([]string, 0, len(f.Volumes)+2)
	for _, v := range f.Volumes {
		paths = append(paths, v.Path)
	}
	for _, path := range []string{f.Index, f.Meta} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// A MoveAction is an action on a file.
type MoveAction string

// The actions.
const (
	ActionLink   MoveAction = "link"   // From gets another name, To
	ActionCopy   MoveAction = "copy"   // To becomes a copy of From
	ActionRemove MoveAction = "remove" // of From
	ActionUndo   MoveAction = "undo"   // removes From, which an earlier action made
)

// A MoveStep is one action.
type MoveStep struct {
	Action   MoveAction
	From, To string // paths
	// Sums are the MD5 checksums of both files in hexadecimal digits, if they were compared.
	Sums [2]string
	// Err is the error of the action. It ends the work, unless the action was to remove a file.
	Err error
}

// MoveOptions say how to move, copy and remove the files of archives, as Options.Find finds them.
// The files keep what follows the base name, compressed ones also the suffix of the compression.
type MoveOptions struct {
	// Verify compares the checksums of each original and its copy, and reads the copy again for
	// that.
	Verify bool
	// DryRun changes nothing. Step reports the planned actions. It reports ActionLink even for a
	// file that a real run would have to copy.
	DryRun bool
	// Step, if not nil, is called after each action, even after one that failed.
	Step func(MoveStep)
}

// Move gives an archive another base name, which may be in another directory. It first links each
// file to its new name, or copies it to another file system. Then it removes the old names.
//
// If the first part fails or the context ends, Move removes the new files again, so that the
// archive is always complete under one name. Errors are *os.LinkError, with fs.ErrExist for a file
// that already exists. If Move cannot remove an old file, the error wraps *fs.PathError: the
// archive has its new name, and the other old files are removed.
func (o MoveOptions) Move(ctx context.Context, files Files, base string) error {
	if err := o.makeAll(ctx, files, base, true); err != nil {
		return err
	}
	if !o.DryRun {
		// Make the new names safe from a crash before the old ones are removed.
		if err := syncDir(filepath.Dir(base)); err != nil {
			return err
		}
	}
	return o.Remove(files)
}

// Copy copies an archive, as Move does.
func (o MoveOptions) Copy(ctx context.Context, files Files, base string) error {
	return o.makeAll(ctx, files, base, false)
}

// Remove removes the files of an archive. If it cannot remove one, it continues with the next.
func (o MoveOptions) Remove(files Files) error {
	var errs []error
	for _, path := range files.Paths() {
		s := MoveStep{Action: ActionRemove, From: path}
		if !o.DryRun {
			s.Err = os.Remove(path)
			errs = append(errs, s.Err)
		}
		o.report(s)
	}
	return errors.Join(errs...)
}

func (o *MoveOptions) report(s MoveStep) {
	if o.Step != nil {
		o.Step(s)
	}
}

// makeAll makes all files under the new name, or none.
func (o *MoveOptions) makeAll(ctx context.Context, files Files, base string, link bool) error {
	var made []string
	for _, path := range files.Paths() {
		_, name := filepath.Split(path)
		of, _, ok := splitName(name)
		if !ok {
			return inFile(path, flawed(pdu.ErrLogFile, "not the name of a file of an archive"))
		}
		s := MoveStep{Action: ActionCopy, From: path, To: base + name[len(of):]}
		if link {
			s.Action = ActionLink
		}
		err := context.Cause(ctx)
		if err == nil {
			err = o.make(ctx, &s)
		}
		if err != nil {
			s.Err = &os.LinkError{Op: string(s.Action), Old: s.From, New: s.To, Err: withoutPath(err)}
			o.report(s)
			return errors.Join(s.Err, o.undo(made))
		}
		made = append(made, s.To)
		o.report(s)
	}
	return nil
}

// make makes one file under its new name.
func (o *MoveOptions) make(ctx context.Context, s *MoveStep) error {
	if _, err := os.Lstat(s.To); err == nil {
		return fs.ErrExist
	}
	if o.DryRun {
		return nil
	}
	if s.Action == ActionLink {
		err := os.Link(s.From, s.To)
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			err = e.Err
		}
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
		s.Action = ActionCopy
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
func (o *MoveOptions) undo(made []string) error {
	if o.DryRun {
		return nil
	}
	var errs []error
	for _, path := range slices.Backward(made) {
		err := os.Remove(path)
		errs = append(errs, err)
		o.report(MoveStep{Action: ActionUndo, From: path, Err: err})
	}
	return errors.Join(errs...)
}

// copyFile copies a file, with its permissions, and has the system write the copy: the original may
// be removed then.
func copyFile(ctx context.Context, from, to string) error {
	in, err := (disk{}).open(from)
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
