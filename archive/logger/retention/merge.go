package retention

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/filesys"
	"github.com/pcp-go/pcp/pdu"
)

// The archive of a day is made in a directory DAY.new. Its file "inputs" has the names of the files
// that the archive replaces. When all is on disk, the directory is renamed to DAY.done. From then
// on the exchange can be repeated, and the next Maintain completes it if necessary.
const (
	newSuffix  = ".new"
	doneSuffix = ".done"
	inputsName = "inputs"
)

// merge merges the archives of each past day into one.
func (m *maintainer) merge(ctx context.Context, groups []*group) error {
	if m.Merge == nil {
		return nil
	}
	byDay := map[string][]*group{}
	var days []string
	taken := map[string]bool{}
	for _, g := range groups {
		taken[g.base] = true
		if !toMerge.MatchString(g.base) || g.day >= m.today() {
			continue
		}
		if byDay[g.day] == nil {
			days = append(days, g.day)
		}
		byDay[g.day] = append(byDay[g.day], g)
	}
	var errs []error
	for _, day := range days {
		inputs := byDay[day]
		if slices.ContainsFunc(inputs, func(g *group) bool { return m.writing(groups, g) }) {
			continue
		}
		err := fs.ErrExist
		if !taken[day] {
			err = m.mergeDay(ctx, day, inputs)
		}
		if err != nil {
			errs = append(errs, failed("merge archives of", day, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// mergeDay merges the archives of a day into one.
func (m *maintainer) mergeDay(ctx context.Context, day string, inputs []*group) error {
	var names []string
	for _, g := range inputs {
		names = append(names, g.base)
		if name := g.twice(); name != "" {
			return fmt.Errorf("%s is there twice, compressed and not: %w", name, fs.ErrExist)
		}
	}
	if m.DryRun {
		m.did("merged", day, names...)
		return nil
	}
	if m.Rewrite != nil {
		for _, g := range inputs {
			if err := m.Rewrite(ctx, filepath.Join(m.dir, g.base)); err != nil {
				return err
			}
		}
		if again, err := m.again(inputs); err != nil {
			return err
		} else {
			inputs = again
		}
	}
	stage := filepath.Join(m.work, day+newSuffix)
	if err := m.stage(ctx, stage, day, inputs); err != nil {
		return errors.Join(err, os.RemoveAll(stage))
	}
	done := filepath.Join(m.work, day+doneSuffix)
	m.at("commit " + day)
	if err := os.Rename(stage, done); err != nil {
		return err
	}
	if err := errors.Join(filesys.SyncDir(m.work), m.exchange(done)); err != nil {
		return err
	}
	m.did("merged", day, names...)
	return nil
}

// again scans the files of archives again after Rewrite.
func (m *maintainer) again(of []*group) (found []*group, err error) {
	groups, err := scan(m.dir)
	for _, g := range groups {
		if slices.ContainsFunc(of, func(old *group) bool { return old.base == g.base }) {
			found = append(found, g)
		}
	}
	return found, err
}

// stage makes the merged archive in a new directory, complete and on disk.
func (m *maintainer) stage(ctx context.Context, stage, day string, inputs []*group) error {
	m.at("begin " + day)
	if err := os.Mkdir(stage, 0o777); err != nil {
		return err
	}
	err := m.fill(ctx, stage, day, inputs)
	if err != nil {
		return err
	}
	var replaced strings.Builder
	for _, g := range inputs {
		for _, f := range g.files {
			replaced.WriteString(f.name + "\n")
		}
	}
	m.at("list " + day)
	if err := os.WriteFile(filepath.Join(stage, inputsName), []byte(replaced.String()), 0o666); err != nil {
		return err
	}
	return syncAll(stage)
}

// fill makes the files of an archive: it links a single input to new names, or merges several
// inputs.
func (m *maintainer) fill(ctx context.Context, stage, day string, inputs []*group) error {
	if len(inputs) == 1 {
		for _, f := range inputs[0].files {
			m.at("link " + f.name)
			if err := link(ctx, filepath.Join(m.dir, f.name), filepath.Join(stage, day+f.name[len(inputs[0].base):])); err != nil {
				return err
			}
		}
		return nil
	}
	var paths []string
	newest := time.Time{}
	for _, g := range inputs {
		paths = append(paths, filepath.Join(m.dir, g.base))
		if g.mtime.After(newest) {
			newest = g.mtime
		}
	}
	for _, path := range paths {
		if err := readable(ctx, path); err != nil {
			return err
		}
	}
	m.at("merge " + day)
	if err := m.Merge(ctx, paths, filepath.Join(stage, day)); err != nil {
		return err
	}
	made, err := os.ReadDir(stage)
	parts := map[string]bool{}
	for _, e := range made {
		if f, base, ok := splitName(e.Name()); ok && base == day {
			parts[f.part] = true
		}
		err = errors.Join(err, os.Chtimes(filepath.Join(stage, e.Name()), newest, newest)) // so that Keep counts from the last value
	}
	delete(parts, "index") // optional
	if err == nil && (!parts["meta"] || len(parts) < 2) {
		err = errNotMerged
	}
	return err
}

// errNotMerged means that Options.Merge returned nil but made no archive.
var errNotMerged = errors.New("there is no archive of them")

// readable checks that the records of an archive can be read to the end, because merging would lose
// those after damage. Only the last record may be incomplete, as a killed logger leaves it.
func readable(ctx context.Context, base string) error {
	set, err := archive.Open(ctx, base)
	if errors.Is(err, pdu.ErrNoData) {
		return nil // nothing can be lost
	}
	if err != nil {
		return err
	}
	volumes := set.Archives()[0].Files().Volumes
	if err := set.Close(); err != nil {
		return err
	}
	found, err := archive.RepairOptions{DryRun: true}.Repair(ctx, base)
	if err != nil {
		return err
	}
	for _, f := range found {
		torn := f.Volume == volumes[len(volumes)-1].Number && f.To.IsZero()
		if !torn && f.Volume != archive.VolumeIndex {
			return f.Problem
		}
	}
	return nil
}

// exchange replaces the files listed in done by the archive in done, and removes done. Metadata is
// published last and removed first, because readers find no archive without it.
func (m *maintainer) exchange(done string) error {
	list, err := os.ReadFile(filepath.Join(done, inputsName))
	if errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(done) // only this was left to do
	}
	entries, err2 := os.ReadDir(done)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	var files []file
	for _, e := range entries {
		if f, _, ok := splitName(e.Name()); ok {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return strings.Compare(order(a), order(b)) })
	for _, f := range files {
		m.at("publish " + f.name)
		if err := os.Rename(filepath.Join(done, f.name), filepath.Join(m.dir, f.name)); err != nil {
			return err
		}
	}
	if err := filesys.SyncDir(m.dir); err != nil {
		return err
	}
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSuffix(name, "\n")
		if _, _, ok := splitName(name); !ok || filepath.Base(name) != name {
			continue // not written by us
		}
		m.at("remove " + name)
		if err := os.Remove(filepath.Join(m.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	m.at("forget " + filepath.Base(done))
	return os.RemoveAll(done)
}

// order returns a sort key that puts volumes first and metadata last.
func order(f file) string {
	switch f.part {
	case "meta":
		return "2"
	case "index":
		return "1"
	}
	return "0"
}

// recover completes merges of an earlier Maintain, and removes its incomplete files.
func (m *maintainer) recover() error {
	entries, err := os.ReadDir(m.work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(m.work, e.Name())
		day, done := strings.CutSuffix(e.Name(), doneSuffix)
		_, _, packed := splitName(e.Name())
		switch {
		case done:
			if err := m.exchange(path); err != nil {
				return err
			}
			m.did("recovered", "", day)
		case packed || strings.HasSuffix(e.Name(), newSuffix):
			m.at("clean " + e.Name())
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// link links a file to another name, or copies it if links are not possible.
func link(ctx context.Context, from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	return copyFile(ctx, from, to, nil)
}

// copyFile is like filesys.Copy, and keeps the modification time.
func copyFile(ctx context.Context, from, to string, convert func(io.Writer, io.Reader) error) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := filesys.Copy(ctx, to, in, convert); err != nil {
		return err
	}
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// syncAll syncs a directory and its files to disk.
func syncAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrPermission) { // a link to a read-only file
			continue
		}
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return filesys.SyncDir(dir)
}
