package archive

import (
	"io/fs"
	"os"
)

// An origin has the name that Open got, and the archives that the name stood for.
type origin struct {
	opts Options
	name string
	meta map[string]fs.FileInfo // of the metadata, by base name; a nil FileInfo is unknown
}

func newOrigin(o *Options, name string, found []Files) origin {
	all := make(map[string]fs.FileInfo, len(found))
	for _, f := range found {
		all[f.Base], _ = disk{o.FS}.stat(f.Meta)
	}
	return origin{opts: *o, name: name, meta: all}
}

// IsReplaced reports whether the name that Open got now stands for other archives: a directory has
// gained or lost an archive, or a file of metadata has been replaced. The set can still be read. An
// archive that has only grown is not replaced. In an Options.FS, IsReplaced compares only names.
func (s *Set) IsReplaced() bool {
	o := &s.origin
	found, err := o.opts.Find(o.name)
	if err != nil || len(found) != len(o.meta) {
		return true
	}
	for _, f := range found {
		was, ok := o.meta[f.Base]
		if !ok {
			return true
		}
		if o.opts.FS != nil {
			continue
		}
		if is, err := os.Stat(f.Meta); err != nil || !os.SameFile(was, is) {
			return true
		}
	}
	return false
}
