package retention

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const dayLayout = "20060102"

// nextDay returns the next midnight after t in its location, or the first time after it if clocks
// skip midnight.
func nextDay(t time.Time) time.Time {
	y, m, d := t.Date()
	next := time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	if next.Day() == d { // clocks skip midnight
		_, before := next.Zone()
		_, after := next.AddDate(0, 0, 2).Zone()
		next = next.Add(time.Duration(after-before) * time.Second)
	}
	return next
}

// mostNumbers is the number of suffixes for archives that begin in the same minute.
const mostNumbers = 100

// Base returns the path of a new archive in dir that begins at t: YYYYMMDD.HH.MM in the zone of t,
// with -00 to -99 appended if that archive exists. If all are taken, the error is fs.ErrExist.
// Other errors are those of reading dir.
func Base(dir string, t time.Time) (string, error) {
	groups, err := scan(dir)
	if err != nil {
		return "", err
	}
	base := t.Format(dayLayout + ".15.04")
	for name, n := base, 0; n <= mostNumbers; n++ {
		if !slices.ContainsFunc(groups, func(g *group) bool { return g.base == name }) {
			return filepath.Join(dir, name), nil
		}
		name = fmt.Sprintf("%s-%02d", base, n)
	}
	return "", fmt.Errorf("retention: archives that begin at %s in %s: %w", t.Format("15:04"), dir, fs.ErrExist)
}

var (
	baseName = regexp.MustCompile(`^(\d{2})?(\d{6})([-.].*)?$`)
	toMerge  = regexp.MustCompile(`^\d{8}\.\d\d\.\d\d(-\d+)?$`)
	fileName = regexp.MustCompile(`^(.+)\.(meta|index|\d+)$`)
	suffixes = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}
)

// A file is a file of an archive.
type file struct {
	name   string // in the directory
	plain  string // name without the compression suffix
	suffix string // compression suffix, or ""
	part   string // "meta", "index" or a volume number
	size   int64
	mtime  time.Time
}

// A group is the files of an archive, which may be incomplete.
type group struct {
	base  string
	day   string // YYYYMMDD
	files []file // metadata first, since readers find no archive without it
	size  int64
	mtime time.Time // last change
}

// splitName parses the name of a file.
func splitName(name string) (f file, base string, ok bool) {
	f = file{name: name, plain: name}
	for _, suffix := range suffixes {
		if plain, found := strings.CutSuffix(name, suffix); found {
			f.plain, f.suffix = plain, suffix
			break
		}
	}
	parts := fileName.FindStringSubmatch(f.plain)
	if parts == nil {
		return f, "", false
	}
	f.part = parts[2]
	return f, parts[1], true
}

// scan finds the archives in a directory whose names begin with a day, and sorts them by day and
// name.
func scan(dir string) ([]*group, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	byBase := map[string]*group{}
	var groups []*group
	for _, e := range entries {
		f, base, ok := splitName(e.Name())
		day := baseName.FindStringSubmatch(base)
		if !ok || day == nil || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f.size, f.mtime = info.Size(), info.ModTime()
		g := byBase[base]
		if g == nil {
			century := day[1]
			if century == "" {
				century = "20"
			}
			g = &group{base: base, day: century + day[2]}
			if _, err := time.Parse(dayLayout, g.day); err != nil {
				continue // not a day
			}
			byBase[base], groups = g, append(groups, g)
		}
		g.add(f)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return strings.Compare(a.day+" "+a.base, b.day+" "+b.base)
	})
	return groups, nil
}

func (g *group) add(f file) {
	if f.part == "meta" {
		g.files = slices.Insert(g.files, 0, f)
	} else {
		g.files = append(g.files, f)
	}
	g.size += f.size
	if f.mtime.After(g.mtime) {
		g.mtime = f.mtime
	}
}

// twice returns the name of a file that exists in several forms, with and without a compression
// suffix, or "" if no file does.
func (g *group) twice() string {
	seen := map[string]bool{}
	for _, f := range g.files {
		if seen[f.plain] {
			return f.plain
		}
		seen[f.plain] = true
	}
	return ""
}
