package logrewrite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/archive"
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
	if err := p.write(ctx, fresh, true); err != nil {
		return errors.Join(err, Remove(fresh))
	}
	if err := p.swap(files, fresh, old); err != nil {
		return errors.Join(err, Remove(fresh))
	}
	return Remove(old)
}

// tempBase is the base name of an archive in a directory that there is not.
func tempBase(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("rewrite%016x", rand.Uint64()))
}

// A move is the renaming of a file.
type move struct{ from, to string }

// swap renames the old archive and gives its name to the new one. What has been renamed before an error goes back.
func (p *Plan) swap(files archive.Files, fresh, old string) (err error) {
	found, err := archive.Options{}.Find(fresh)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return errors.ErrUnsupported
	}
	var moves []move
	for _, f := range components(files) {
		moves = append(moves, move{f, old + strings.TrimPrefix(f, files.Base)})
	}
	for _, f := range components(found[0]) {
		moves = append(moves, move{f, files.Base + strings.TrimPrefix(f, found[0].Base)})
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

// components are the paths of an archive's files.
func components(f archive.Files) (all []string) {
	for _, v := range f.Volumes {
		all = append(all, v.Path)
	}
	if f.Index != "" {
		all = append(all, f.Index)
	}
	return append(all, f.Meta)
}
