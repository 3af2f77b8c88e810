package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// splitName parses the last component of a path. base is the archive of the file, and volume is the
// number of a volume, VolumeMeta or VolumeIndex. ok is false for any other file.
func splitName(name string) (base string, volume int, ok bool) {
	base, _ = trimCompression(name)
	i := strings.LastIndexByte(base, '.')
	if i < 0 {
		return "", 0, false
	}
	base, suffix := base[:i], base[i+1:]
	switch suffix {
	case "meta":
		return base, VolumeMeta, true
	case "index":
		return base, VolumeIndex, true
	}
	n, err := strconv.ParseUint(suffix, 10, 31) // no sign
	return base, int(n), err == nil
}

// Files has the paths of the files of one archive, as they are in a directory.
type Files struct {
	Base    string // the base name with its directory
	Meta    string // "" if there is none
	Index   string // "" if there is none
	Volumes []VolumeFile
}

// A VolumeFile is the number and path of a volume. In a list of volumes, numbers ascend, not always
// by 1.
type VolumeFile struct {
	Number int
	Path   string
}

// add adds a file of a directory. A plain file has precedence over compressed ones of the same
// name, and these have PCP's order of preference.
func (f *Files) add(volume int, path string) {
	switch volume {
	case VolumeMeta:
		f.Meta = preferred(f.Meta, path)
	case VolumeIndex:
		f.Index = preferred(f.Index, path)
	default:
		i, found := slices.BinarySearchFunc(f.Volumes, volume, func(v VolumeFile, n int) int { return cmp.Compare(v.Number, n) })
		if found {
			f.Volumes[i].Path = preferred(f.Volumes[i].Path, path)
		} else {
			f.Volumes = slices.Insert(f.Volumes, i, VolumeFile{volume, path})
		}
	}
}

func preferred(a, b string) string {
	if a == "" {
		return b
	}
	_, ca := trimCompression(a)
	_, cb := trimCompression(b)
	if cb < ca {
		return b
	}
	return a
}

// Find finds the archives that a name stands for, without opening them; see [Open]. It is for
// programs that handle damaged archives, so an archive may lack its volumes or its metadata. An
// archive without any file is fs.ErrNotExist.
//
// The archives are in the order of the list, and those of a directory are sorted by name. Each
// appears once. As in the C library, a list may end with commas and a name with slashes.
func (o Options) Find(name string) ([]Files, error) {
	if name == "" {
		return nil, &Error{File: name, Offset: -1, Record: -1, Err: flawed(pdu.ErrLogFile, "no name")}
	}
	var found []Files
	d := disk{o.FS}
	for element := range strings.SplitSeq(strings.TrimRight(name, ","), ",") {
		some, err := d.find(element)
		if err != nil {
			return nil, inFile(element, err)
		}
		for _, f := range some {
			if !slices.ContainsFunc(found, func(g Files) bool { return g.Base == f.Base }) {
				found = append(found, f)
			}
		}
	}
	return found, nil
}

// find finds the archives of one element of a list.
func (d disk) find(name string) ([]Files, error) {
	if name == "" {
		return nil, fmt.Errorf("an archive without a name: %w", fs.ErrNotExist)
	}
	if d.fsys != nil {
		name = path.Clean(name)
	}
	if d.isDir(name) {
		names, err := d.readDir(name)
		if err != nil {
			return nil, withoutPath(err)
		}
		return d.findAll(name, names)
	}
	dir, base := d.split(cmp.Or(strings.TrimRight(name, "/"), name))
	if d.existsSomehow(name) { // false for the name of a file with a slash after it
		if b, _, ok := splitName(base); ok {
			base = b
		}
	}
	names, err := d.readDir(dir)
	if err != nil {
		return nil, withoutPath(err)
	}
	f := Files{Base: d.join(dir, base)}
	d.collect(&f, dir, base, names)
	if f.Meta == "" && f.Index == "" && len(f.Volumes) == 0 {
		return nil, fmt.Errorf("no such archive: %w", fs.ErrNotExist)
	}
	return []Files{f}, nil
}

// findAll finds the archives of a directory: one for each file of metadata.
func (d disk) findAll(dir string, names []string) ([]Files, error) {
	var found []Files
	byBase := map[string]int{}
	for _, name := range names {
		base, volume, ok := splitName(name)
		if _, twice := byBase[base]; ok && volume == VolumeMeta && !twice {
			byBase[base] = len(found)
			found = append(found, Files{Base: d.join(dir, base)})
		}
	}
	for _, name := range names {
		if base, volume, ok := splitName(name); ok {
			if i, known := byBase[base]; known {
				found[i].add(volume, d.join(dir, name))
			}
		}
	}
	if len(found) == 0 {
		return nil, flawed(pdu.ErrLogFile, "no archive in this directory")
	}
	return found, nil
}

// collect adds the files of an archive in a directory to f.
func (d disk) collect(f *Files, dir, base string, names []string) {
	for _, name := range names {
		if b, volume, ok := splitName(name); ok && b == base {
			f.add(volume, d.join(dir, name))
		}
	}
}

// rescan looks for the files of an archive again.
func (d disk) rescan(base string) (Files, error) {
	dir, last := d.split(base)
	names, err := d.readDir(dir)
	if err != nil {
		return Files{}, withoutPath(err)
	}
	f := Files{Base: base}
	d.collect(&f, dir, last, names)
	return f, nil
}

// Paths returns the paths of all files, in the order that suits a program that moves or copies
// them. The metadata is last, because an archive is complete only with it.
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

// complete returns an error if an archive lacks metadata or volumes.
func (f *Files) complete() error {
	if len(f.Volumes) == 0 {
		return flawed(pdu.ErrLogFile, "the archive has no volume")
	}
	return f.hasMeta()
}

func (f *Files) hasMeta() error {
	if f.Meta == "" {
		return flawed(pdu.ErrLogFile, "the archive has no metadata file (.meta)")
	}
	return nil
}

// or adds the files of g that f does not have.
func (f Files) or(g Files) Files {
	if f.Meta == "" {
		f.Meta = g.Meta
	}
	if f.Index == "" {
		f.Index = g.Index
	}
	for _, v := range g.Volumes {
		f.add(v.Number, v.Path)
	}
	return f
}

// existsSomehow reports whether a file with the name exists, plain or compressed.
func (d disk) existsSomehow(name string) bool {
	if d.exists(name) {
		return true
	}
	return slices.ContainsFunc(compressions, func(c compression) bool { return d.exists(name + c.suffix) })
}

var errNotRegular = errors.New("not a regular file")
