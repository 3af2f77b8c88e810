package logrewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/filesys"
	"github.com/pcp-go/pcp/pdu"
)

// WriteInPlace writes the archive, changed, in the place of the one that was read. Its files get
// the permissions of the old ones and, where the system allows that, the owners. Compressed files
// become files that are not. After an error there is the old archive, unless the error is that
// files of it could not be removed, a *fs.PathError.
//
// Nothing is lost if the process is killed or the system crashes, and nobody reads a mixture of
// both archives: while files are exchanged there is no metadata with the name of the archive, and
// the old one is there, complete, with the same name and ".old" with a number at its end. If there
// is metadata without that, the archive is complete, too: the old one or the new one. What is left
// with ".old" or ".new" can be removed then; otherwise the old archive can get its name back (as by
// archive.MoveOptions, or pmlogmv) after what is left with that was removed.
func (p *Plan) WriteInPlace(ctx context.Context) error {
	if len(p.set.Archives()) != 1 {
		return errors.ErrUnsupported
	}
	files := p.set.Archives()[0].Files()
	number := rand.Uint32()
	e := &exchange{step: p.step, base: files.Base, olds: files.Paths(), meta: files.Meta,
		old: fmt.Sprintf("%s.old%08x", files.Base, number), fresh: fmt.Sprintf("%s.new%08x", files.Base, number)}
	w, err := p.write(ctx, e.fresh, e.prepare)
	if err == nil && len(w.Paths()) == 0 {
		err = pdu.ErrNoData // an archive without a record has no files: then the old one is not to go
	}
	if err == nil {
		err = e.run(ctx, w.Paths())
	}
	if err != nil {
		if w != nil {
			err = errors.Join(err, w.Discard())
		}
		return err
	}
	return e.forget()
}

// An exchange puts a new archive in the place of an old one.
type exchange struct {
	base, old, fresh string       // base names: of the archive, of the old one meanwhile, and of the new one
	olds             []string     // paths of the old archive, its metadata last
	meta             string       // that
	step             func(string) // for tests: is called before each change
}

// A rename is that of a file.
type rename struct{ from, to string }

// at tells a test what comes next.
func (e *exchange) at(step string) {
	if e.step != nil {
		e.step(step)
	}
}

// meanwhile is the other path of a file of the old archive.
func (e *exchange) meanwhile(path string) string { return e.old + strings.TrimPrefix(path, e.base) }

// prepare gives new files the permissions and owners of old ones, and has the system write them.
func (e *exchange) prepare(w *archive.Writer) error {
	if err := w.Flush(); err != nil {
		return err
	}
	for _, path := range w.Paths() {
		name := e.base + strings.TrimPrefix(path, e.fresh)
		like := e.meta
		for _, old := range e.olds {
			if old == name || strings.HasPrefix(old, name+".") { // compressed
				like = old
			}
		}
		info, err := os.Stat(like)
		if err == nil {
			err = filesys.SetOwner(path, info)
		}
		if err != nil {
			return err
		}
	}
	return w.Sync()
}

// run exchanges the archives. After an error there is the old one.
func (e *exchange) run(ctx context.Context, news []string) error {
	dir := filepath.Dir(e.base)
	for i, path := range e.olds {
		e.at("keep " + path)
		if err := keep(ctx, path, e.meanwhile(path)); err != nil {
			for _, path := range e.olds[:i] {
				err = errors.Join(err, os.Remove(e.meanwhile(path)))
			}
			return err
		}
	}
	var renames []rename
	for _, path := range news {
		r := rename{path, e.base + strings.TrimPrefix(path, e.fresh)}
		if strings.HasSuffix(path, ".meta") {
			renames = append(renames, r) // the last one
		} else {
			renames = slices.Insert(renames, 0, r)
		}
	}
	err := filesys.SyncDir(dir)
	if err == nil {
		err = e.replace(dir, renames)
	}
	if err != nil {
		return errors.Join(err, e.restore(renames))
	}
	return nil
}

// replace gives new files the names of old ones, of which the metadata goes first, and comes last.
func (e *exchange) replace(dir string, renames []rename) error {
	e.at("remove " + e.meta)
	if err := errors.Join(os.Remove(e.meta), filesys.SyncDir(dir)); err != nil {
		return err
	}
	for _, path := range e.olds {
		if path == e.meta || slices.ContainsFunc(renames, func(r rename) bool { return r.to == path }) {
			continue
		}
		e.at("remove " + path)
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for i, r := range renames {
		if i == len(renames)-1 {
			if err := filesys.SyncDir(dir); err != nil {
				return err
			}
		}
		e.at("rename " + r.to)
		if err := os.Rename(r.from, r.to); err != nil {
			return err
		}
	}
	return filesys.SyncDir(dir)
}

// restore removes what the new archive has of the name of the old one, and gives that back.
func (e *exchange) restore(renames []rename) error {
	var errs []error
	for _, r := range slices.Backward(renames) {
		e.at("take back " + r.to)
		errs = append(errs, removeAny(r.to)) // also a name of an old file, which has another one
	}
	for _, path := range e.olds {
		e.at("restore " + path)
		// Of two names of one file, a rename removes none.
		errs = append(errs, removeAny(path), os.Rename(e.meanwhile(path), path))
	}
	return errors.Join(errs...)
}

// forget removes the old archive, its metadata first.
func (e *exchange) forget() error {
	var errs []error
	for _, path := range slices.Backward(e.olds) {
		e.at("forget " + path)
		errs = append(errs, os.Remove(e.meanwhile(path)))
	}
	return errors.Join(errs...)
}

// keep gives a file one more name, or copies it where it may have no other.
func keep(ctx context.Context, path, name string) error {
	err := os.Link(path, name)
	if err == nil {
		return nil
	}
	in, openErr := os.Open(path)
	if openErr != nil {
		return err
	}
	defer in.Close()
	if err := filesys.Copy(ctx, name, in, nil); err != nil {
		return err
	}
	info, err := in.Stat()
	if err == nil {
		err = filesys.SetOwner(name, info)
	}
	return err
}

// removeAny removes a file if there is one.
func removeAny(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
