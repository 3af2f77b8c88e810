package mmv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/pcpconf"
)

// A publication is the file of a registry. Registry.mu protects it.
type publication struct {
	dir    string      // "" if the registry is not published
	advice string      // what to do if dir is not good
	info   fs.FileInfo // identifies the file that has the values; nil without a file
	lost   bool        // another program has taken the name
	err    error       // what is wrong now
	clash  error       // what was wrong with other files when it was published
	retry  time.Time   // no new file is tried before
	timer  *time.Timer

	// mapped is how many files are mapped. A replaced file stays mapped until the next garbage
	// collection.
	mapped *atomic.Int64

	// ticking is held by tick: so one is at work at a time, however long OnRead's functions take,
	// and Close can wait.
	ticking sync.Mutex
}

const (
	tickInterval  = time.Second // between calls of OnRead's functions, and looks at the file
	retryInterval = time.Second // between attempts to write a file
	maxMapped     = 256         // with more files mapped, one is replaced no more often than retryInterval
)

// defaultDir returns the directory that pmdammv serves: mmv in $PCP_TMP_DIR, usually
// /var/lib/pcp/tmp/mmv. It reads PCP_TMP_DIR from the environment, or else from /etc/pcp.conf.
func defaultDir() (string, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return "", fmt.Errorf("mmv: %w", err)
	}
	return filepath.Join(conf.Get("PCP_TMP_DIR"), "mmv"), nil
}

// Publish writes the file Name in a directory, for pmdammv, and keeps the values in it. One call
// in main is enough:
//
//	err := registry.Publish("")
//
// An empty dir means the directory that pmdammv serves: mmv in $PCP_TMP_DIR, which comes from the
// environment or else from /etc/pcp.conf. The directory must exist. A file of that name is replaced
// in one step: readers see the old file or the complete new one. Metrics that are registered later
// are added to it, or a larger file replaces it in the same way.
//
// The error is the current result of Err. The program can ignore it: values that cannot be written
// to a file stay in memory. The registry tries to write the file again every second. Calling
// Publish again tries at once. A system without memory-mapped files returns errors.ErrUnsupported.
// If /etc/pcp.conf exists but cannot be read, Publish adds that error, and no file is tried until
// it is called again.
//
// Err also reports a metric with the same PMID in another file of the directory.
//
// If another program or registry takes the name, the file is not taken back until Publish is
// called again. Two registries with one Name, also in one program, replace each other's file. The
// one that is published last has the file, and Err and Logger of the other report it within two
// seconds.
//
// While a file is published, the functions of OnRead are called every second. The registry stays
// in memory until Close, even without references.
//
// Disk space for the file is allocated before it is used, so a full disk causes an error and not a
// signal. This does not hold on file systems that allocate when a file is overwritten, such as
// btrfs and ZFS. Updates only store to memory. Registrations, With of a new instance, Remove,
// Source and Err may wait for the file system.
//
// Publish is the counterpart of mmv_stats_start(3).
func (r *Registry) Publish(dir string) error {
	var err error
	advice := "give Publish another one"
	if dir == "" {
		advice = "set PCP_TMP_DIR"
		dir, err = defaultDir()
	} else {
		dir, err = filepath.Abs(dir)
	}
	r.read()
	r.mu.Lock()
	defer r.unlock()
	r.start()
	r.log.on = true
	if err != nil || !r.isFileName() {
		return errors.Join(r.err(), err)
	}
	if f := &r.file; f.dir != "" && f.dir != dir {
		r.unpublish()
	}
	r.file.dir, r.file.advice, r.file.lost, r.file.retry = dir, advice, false, time.Time{}
	if r.file.mapped == nil {
		r.file.mapped = new(atomic.Int64)
	}
	r.sweep()
	r.file.clash = r.clash()
	if !r.replaceFile(true) && r.image.Load() == nil {
		r.replaceHeap(true)
	}
	if r.file.timer == nil {
		r.file.timer = time.AfterFunc(tickInterval, r.tick)
	}
	return r.err()
}

// Close ends the publication. The values stay in memory, and the registry can be published again.
// The file is removed if agents serve it only while the process lives: see Registry.Process.
// Otherwise it stays, with its last values, until a file of the same name replaces it.
//
// The error says why the file could not be removed. Close must not be called by a function of
// OnRead. It is the counterpart of mmv_stats_stop(3).
func (r *Registry) Close() error {
	r.mu.Lock()
	err := r.unpublish()
	r.unlock()
	r.flushLog()
	r.file.ticking.Lock() // waits until the tick that is at work is over
	defer r.file.ticking.Unlock()
	return err
}

// unpublish moves all values to the heap, and removes the file if agents check the process.
func (r *Registry) unpublish() error {
	f := &r.file
	if f.dir == "" {
		return nil
	}
	r.watch()
	path, ours, keep := r.path(), f.info != nil, r.flags()&flagProcess == 0
	f.timer.Stop()
	f.dir, f.info, f.err, f.clash, f.lost, f.timer = "", nil, nil, nil, false, nil
	old := r.image.Load()
	r.replaceHeap(true)
	switch {
	case !ours:
		return nil
	case keep:
		old.setGeneration(r.generation())
		return nil
	}
	return os.Remove(path)
}

func (r *Registry) path() string { return filepath.Join(r.file.dir, r.Name) }

// flags are the flags of the file.
func (r *Registry) flags() (f fileFlags) {
	if r.NoPrefix {
		f |= flagNoPrefix
	}
	if r.Process.on() {
		f |= flagProcess
	}
	return f
}

// putHeader writes the registry's fields of the header.
func (r *Registry) putHeader(im *image) {
	im.put32(headerFlags, uint32(r.flags()))
	im.put32(headerProcess, uint32(os.Getpid()))
	im.put32(headerCluster, uint32(r.Cluster))
}

// replaceFile makes a new image in a new file, moves all values there and gives the file its name.
// It reports whether it succeeded. If it cannot make a file, the values stay where they are. If it
// cannot rename the file, it removes it, and the values stay in its memory. After a failure, or
// with many replaced files still mapped, which take address space and disk space, it makes no new
// file before retry. Then tick brings the file up to date.
func (r *Registry) replaceFile(exact bool) bool {
	f := &r.file
	if time.Now().Before(f.retry) {
		return false
	}
	var tmp *tempFile
	im, placements, err := r.build(exact, func(size int) (words []uint64, err error) {
		if tmp, err = createFile(f.dir, r.Name, size); err != nil {
			return nil, err
		}
		return tmp.words, nil
	})
	if err != nil {
		f.failed(f.explain(r.path(), err))
		return false
	}
	im.own(tmp, f.mapped)
	r.moveTo(im, placements)
	f.info, f.err = tmp.info, nil
	if f.mapped.Load() > maxMapped {
		f.retry = time.Now().Add(retryInterval)
	}
	if err := tmp.rename(r.path()); err != nil { // then its memory is as good as the heap
		f.info = nil
		f.failed(f.explain(r.path(), err))
	}
	r.retire(im)
	return f.err == nil
}

func (f *publication) failed(err error) {
	f.err = fmt.Errorf("mmv: values go on in memory: %w", err)
	f.retry = time.Now().Add(retryInterval)
}

// explain returns an error about the directory or the file at path. It does not name the unfinished
// file, whose name users do not know.
func (f *publication) explain(path string, err error) error {
	what := ""
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		what, err = e.Op, e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		what, err = e.Op, e.Err
	} else {
		return err
	}
	noDir := func(err error) error {
		return fmt.Errorf("directory %s does not exist: create it, or %s: %w", f.dir, f.advice, err)
	}
	info, dirErr := os.Stat(f.dir)
	switch {
	case what == "open" && errors.Is(err, fs.ErrNotExist): // a new file has no other reason; the directory may be back by now
		return noDir(err)
	case errors.Is(dirErr, fs.ErrNotExist):
		return noDir(dirErr.(*fs.PathError).Err)
	case dirErr == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory: remove it, or %s: %w", f.dir, f.advice, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errReadOnly):
		return fmt.Errorf("directory %s is not writable: let this user write there, or %s: %w", f.dir, f.advice, err)
	}
	return fmt.Errorf("file %s: %s: %w", path, what, err)
}

// replaceHeap makes a new image on the heap and moves all values there.
func (r *Registry) replaceHeap(exact bool) {
	im, placements, err := r.build(exact, func(size int) ([]uint64, error) { return make([]uint64, size/8), nil })
	if err != nil {
		r.file.failed(err)
		return
	}
	r.moveTo(im, placements)
	r.retire(im)
}

// moveTo moves all values to a new image and makes it valid.
func (r *Registry) moveTo(im *image, placements []placement) {
	im.fill(r, placements)
	r.stale = false
}

// retire makes im the current image. Readers of the old one find that it has changed.
func (r *Registry) retire(im *image) {
	if old := r.image.Swap(im); old != nil {
		atomic.StoreUint64(&old.words[headerGeneration2/8], 0)
		runtime.KeepAlive(old)
	}
}

// watch looks whether the file is still there.
func (r *Registry) watch() {
	f := &r.file
	if f.info == nil {
		return
	}
	now, err := os.Stat(r.path())
	switch {
	case err == nil && !os.SameFile(now, f.info):
		f.info, f.lost = nil, true
		f.err = fmt.Errorf("mmv: %s is that of another program or registry now: values go on in memory; give the two different Names", r.path())
	case errors.Is(err, fs.ErrNotExist):
		f.info = nil
		f.err = fmt.Errorf("mmv: values go on in memory: %w", f.explain(r.path(), err))
	}
}

// tick is called a second after Publish, and a second after the one before is over, while a file is
// published.
func (r *Registry) tick() {
	f := &r.file
	f.ticking.Lock()
	defer f.ticking.Unlock()
	r.mu.Lock()
	if f.dir == "" {
		r.unlock()
		return
	}
	r.grow()
	r.unlock()
	r.read()
	r.mu.Lock()
	defer r.unlock()
	if f.timer != nil {
		f.timer.Reset(tickInterval)
	}
}
