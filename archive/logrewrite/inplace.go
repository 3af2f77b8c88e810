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

// WriteInPlace replaces the archive by the changed one. The new files get the permissions of the
// old ones and, where the system allows it, their owners. Compressed files become uncompressed.
// After an error the old archive is unchanged. The exception is a *fs.PathError from removing the
// old files, after the exchange. Errors are those of Write, errors.ErrUnsupported for a set of
// several archives, and pdu.ErrNoData if no data record remains.
//
// A crash loses nothing, and no reader sees a mixture of both archives. While files are replaced,
// there is no metadata file under the archive's name, and the complete old archive has that name
// with ".old" and a number appended. After a crash:
//
//   - If there is a metadata file under the archive's name, the archive is complete, old or new.
//     Remove the files with ".old" and ".new".
//   - If not, remove the remaining files under its name and rename the ".old" archive back with
//     pmlogmv.
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
		err = pdu.ErrNoData // no record and so no files; keep the old archive
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

// An exchange replaces an old archive by a new one.
type exchange struct {
	base, old, fresh string       // base names: of the archive, of the old one during the exchange, of the new one
	olds             []string     // paths of the old archive, its metadata last
	meta             string       // path of the old metadata
	step             func(string) // called before each step, for tests
}

// A rename is the renaming of one file.
type rename struct{ from, to string }

// at calls the step function, if any.
func (e *exchange) at(step string) {
	if e.step != nil {
		e.step(step)
	}
}

// meanwhile returns the path that a file of the old archive has during the exchange.
func (e *exchange) meanwhile(path string) string { return e.old + strings.TrimPrefix(path, e.base) }

// prepare gives the new files the permissions and owners of the old ones, and syncs them to disk.
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

// run exchanges the archives. After an error the old archive is in place.
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
			renames = append(renames, r) // at the end
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

// replace renames the new files to the old names. It removes the old metadata first and renames the
// new metadata last.
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

// restore removes the new files under the archive's name and renames the old ones back.
func (e *exchange) restore(renames []rename) error {
	var errs []error
	for _, r := range slices.Backward(renames) {
		e.at("take back " + r.to)
		errs = append(errs, removeAny(r.to)) // even a link to an old file: e.meanwhile is another
	}
	for _, path := range e.olds {
		e.at("restore " + path)
		// Rename does nothing if both names are links to one file.
		errs = append(errs, removeAny(path), os.Rename(e.meanwhile(path), path))
	}
	return errors.Join(errs...)
}

// forget removes the old files, metadata first.
func (e *exchange) forget() error {
	var errs []error
	for _, path := range slices.Backward(e.olds) {
		e.at("forget " + path)
		errs = append(errs, os.Remove(e.meanwhile(path)))
	}
	return errors.Join(errs...)
}

// keep links a file to a second name, or copies it if links are not possible.
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

// removeAny removes a file if it exists.
func removeAny(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
