package logrewrite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// WriteInPlace writes the archive, changed, in the place of the one that was read. The new one is on the disk before the old
// one goes. After an error there is the old one. Compressed files become files that are not.
func (p *Plan) WriteInPlace(ctx context.Context) error {
	if len(p.set.Archives()) != 1 {
		return errors.ErrUnsupported
	}
	files := p.set.Archives()[0].Files()
	dir := filepath.Dir(files.Base)
	fresh, old := tempBase(dir), tempBase(dir)
	w, err := p.write(ctx, fresh, true)
	if err == nil {
		err = swap(files.Paths(), files.Base, old, w.Paths(), fresh)
	}
	if err != nil {
		if w != nil {
			err = errors.Join(err, w.Discard())
		}
		return err
	}
	var errs []error
	for _, path := range files.Paths() {
		errs = append(errs, os.Remove(old+strings.TrimPrefix(path, files.Base)))
	}
	return errors.Join(errs...)
}

// tempBase is the base name of an archive in a directory that there is not.
func tempBase(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("rewrite%016x", rand.Uint64()))
}

// A move is the renaming of a file.
type move struct{ from, to string }

// swap renames the old archive, and gives its base name to the new one. What has been renamed before an error goes back.
func swap(olds []string, base, old string, news []string, fresh string) (err error) {
	var moves []move
	for _, path := range olds {
		moves = append(moves, move{path, old + strings.TrimPrefix(path, base)})
	}
	for _, path := range news {
		moves = append(moves, move{path, base + strings.TrimPrefix(path, fresh)})
	}
	for i, m := range moves {
		if err = os.Rename(m.from, m.to); err == nil {
			continue
		}
		for _, m := range moves[:i] {
			// Those of the new archive are removed with it, and would be in the way of the old ones.
			if !strings.HasPrefix(m.to, old) {
				err = errors.Join(err, os.Rename(m.to, m.from))
			}
		}
		for _, m := range moves[:i] {
			if strings.HasPrefix(m.to, old) {
				err = errors.Join(err, os.Rename(m.to, m.from))
			}
		}
		return err
	}
	return nil
}
