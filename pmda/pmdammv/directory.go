package pmdammv

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A directory is the directory with the files. The agent's lock guards all fields except seen.
type directory struct {
	limits
	path  string
	cpath []byte // path and a NUL

	names   []string          // sorted, from the latest listing
	entries map[string]*entry // by file name
	kept    int               // the number of files that are kept open
	used    usage             // by files that are served
	owners  map[int]usage     // by those of each owner, without anyOwner

	seen atomic.Pointer[dirSeen] // nil before the first scan
}

// A dirSeen is the state of the directory before the latest listing.
type dirSeen struct {
	dirState
	// recent means that the directory had changed within the last tick. A further change could have
	// the same time and remain unseen, so the directory must be listed again.
	recent bool
}

// namesPerFile is the number of files that are examined for each file that may be served.
const namesPerFile = 16

// tick is longer than the timestamp granularity of a file system. fileClock measures it.
const tick = 20 * time.Millisecond

func newDirectory(path string, l limits) *directory {
	l.open = maxOpen(l.open)
	return &directory{limits: l, path: path, cpath: append([]byte(path), 0), owners: map[int]usage{}}
}

// changed reports whether the directory must be listed again. It does not allocate.
func (d *directory) changed() bool {
	seen := d.seen.Load()
	return seen == nil || seen.recent || stat(d.cpath) != seen.dirState
}

// scan reads the files that are new, have been replaced or have changed, all of them if force is
// true, and returns the entries in the order of their names.
func (d *directory) scan(force bool, log *slog.Logger) []*entry {
	listed := force || d.changed()
	if listed {
		d.list(log)
	}
	old := d.entries
	all := make([]*entry, len(d.names))
	var jobs []job
	for i, name := range d.names {
		if e := old[name]; e != nil && !listed && !e.changed() {
			all[i] = e
		} else {
			jobs = d.look(jobs, &all[i], name, e, force)
		}
		delete(old, name)
	}
	for _, e := range old {
		d.drop(e)
	}
	// The chunks limit the memory for files that are not served.
	for some := range slices.Chunk(jobs, jobsAtOnce) {
		for i := range some {
			j := &some[i]
			*j.e = d.open(j.name, j.path, j.err)
		}
		readAll(some)
		for _, j := range some {
			d.finish(j, log)
		}
	}
	unserved := 0
	all = slices.DeleteFunc(all, func(e *entry) bool {
		if e != nil && e.file == nil {
			unserved++
		}
		// A change of the directory leads to another look at a deleted entry.
		return e == nil || e.file == nil && unserved > d.files
	})
	d.names = d.names[:0]
	d.entries = make(map[string]*entry, len(all))
	for _, e := range all {
		d.names = append(d.names, e.name)
		d.entries[e.name] = e
	}
	return all
}

// A job is a file to be read.
type job struct {
	e    **entry // where to store the entry
	old  *entry  // nil for a new file
	name string
	path string
	err  error // of the file's stat
}

const (
	manyJobs   = 64  // from that number on, several goroutines read the files
	jobsAtOnce = 256 // files that are read before the unserved ones are dropped
)

// readAll reads the files of jobs whose entries have sources.
func readAll(jobs []job) {
	n := 1
	if len(jobs) >= manyJobs {
		n = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(jobs); i = int(next.Add(1)) - 1 {
				if e := *jobs[i].e; e.src != nil {
					e.read()
				}
			}
		})
	}
	all.Wait()
}

// list reads the names of the files. If it cannot read the directory, the list is empty.
func (d *directory) list(log *slog.Logger) {
	last := d.seen.Load()
	seen := &dirSeen{dirState: stat(d.cpath)}
	seen.recent = seen.err == nil && fileClock().Sub(time.Unix(seen.sec, seen.nsec)).Abs() < tick
	d.seen.Store(seen)
	list, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && (last == nil || last.err != seen.err) {
		log.Warn("cannot read the directory of MMV files", slog.Any("err", err))
	}
	d.names = make([]string, 0, len(list))
	for _, f := range list {
		if !strings.HasPrefix(f.Name(), ".") {
			d.names = append(d.names, f.Name())
		}
	}
	slices.Sort(d.names)
	if len(d.names) > d.files {
		d.names = slices.DeleteFunc(d.names, func(name string) bool { // not an MMV file
			info, err := os.Stat(filepath.Join(d.path, name))
			return err != nil || !info.Mode().IsRegular() || info.Size() < headLen
		})
	}
	if most := d.files * namesPerFile; len(d.names) > most {
		log.Warn("too many files in the directory of MMV files: the last ones are not served", slog.String("dir", d.path), slog.Int("files", len(d.names)), slog.Int("limit", most))
		d.names = d.names[:most]
	}
}

// look examines a file. If the old entry is up to date, it becomes the entry. Otherwise look adds a
// job to read the file, unless the file is gone.
func (d *directory) look(jobs []job, e **entry, name string, old *entry, force bool) []job {
	path := filepath.Join(d.path, name)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		d.drop(old)
		return jobs
	case err == nil && !force && old.upToDate(info):
		*e = old
		return jobs
	}
	d.drop(old)
	return append(jobs, job{e, old, name, path, err})
}

// finish completes a job whose file has been read.
func (d *directory) finish(j job, log *slog.Logger) {
	defer func() { d.admit(*j.e); (*j.e).log(log, j.path) }()
	if j.old != nil && j.old.file != nil && (*j.e).inFlux() {
		d.await(j)
	}
}

// admit counts a file that is served, unless it exceeds a limit. It closes a file that is not
// served, which is then opened whenever it is read.
func (d *directory) admit(e *entry) {
	if e.src == nil || e.counted {
		return
	}
	f := e.src.(*fileSource)
	if e.file != nil {
		owner, n := ownerOf(f.info), len(e.file.Metrics)
		all, own := d.used.add(f.Size(), n), d.owners[owner].add(f.Size(), n)
		err := all.check(&d.limits, 1, "")
		if err == nil && owner != anyOwner {
			err = own.check(&d.limits, ownerShare, ownerShown)
		}
		if err == nil {
			e.counted, d.used, d.owners[owner] = true, all, own
			if f.h == nil && d.kept < d.limits.open && f.reopen() {
				d.kept++ // unserved files may have taken its place before
			}
			return
		}
		d.drop(e)
		e.src, e.file, e.err = nil, nil, err
		return
	}
	if f.h != nil {
		f.close()
		f.h = nil
		d.kept--
	}
}

// upToDate reports whether an entry has the current contents of a file. It ignores the file's time,
// because each new value changes that.
func (e *entry) upToDate(info fs.FileInfo) bool {
	if e == nil || e.src == nil {
		return false
	}
	was := e.src.(*fileSource).info
	return os.SameFile(was, info) && was.Size() == info.Size() && !e.changed()
}

// open returns an entry for a file that must still be read. err is the error of the file's stat.
func (d *directory) open(name, path string, err error) *entry {
	if err != nil {
		return &entry{name: name, err: err}
	}
	src, err := openSource(path, d.kept < d.limits.open)
	if err != nil {
		return &entry{name: name, err: err}
	}
	if size := src.Size(); size > d.fileBytes {
		src.close()
		return &entry{name: name, err: fmt.Errorf("it has %d bytes, limit %d", size, d.fileBytes)}
	}
	if src.h != nil {
		d.kept++
	}
	return &entry{name: name, src: src}
}

// drop releases the resources of an entry, which may be nil.
func (d *directory) drop(e *entry) {
	if e == nil || e.src == nil {
		return
	}
	f := e.src.(*fileSource)
	f.close()
	if f.h != nil {
		d.kept--
	}
	if !e.counted {
		return
	}
	owner, n := ownerOf(f.info), len(e.file.Metrics)
	d.used, d.owners[owner] = d.used.remove(f.Size(), n), d.owners[owner].remove(f.Size(), n)
	if d.owners[owner] == (usage{}) {
		delete(d.owners, owner)
	}
}

// A file that grows while it is served is in flux for a moment, unless its writer is delayed or has
// just ended. So it is read again a few times before its metrics are removed.
const (
	fluxTries = 40
	fluxPause = 50 * time.Microsecond
)

// await reads again a file that was in flux.
func (d *directory) await(j job) {
	for range fluxTries {
		time.Sleep(fluxPause)
		e := *j.e
		if !e.changed() {
			continue
		}
		d.drop(e)
		e = d.open(e.name, j.path, nil)
		if *j.e = e; e.src != nil {
			e.read()
		}
		if !e.inFlux() {
			return
		}
	}
}
