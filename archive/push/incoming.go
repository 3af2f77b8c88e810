package push

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/ctxwait"
)

// maxNumber is the largest archive number.
const maxNumber = 1<<31 - 1

// An incoming is an archive that is being received. Only the holder of turn may use it.
type incoming struct {
	r *Receiver
	state
	version  int
	turn     ctxwait.Mutex
	last     time.Time     // of the last request
	longest  time.Duration // longest pause between two requests
	resumed  bool          // the files are open
	finished bool          // guarded by r.mu as well

	meta, index, data *file // data is nil before the first volume
	volume            int   // of data
}

// hostDir returns the directory of a host.
func hostDir(host string) string { return strings.ToLower(host) }

// begin begins an archive with a label.
func (r *Receiver) begin(c client, label []byte, timeout time.Duration) (*incoming, error) {
	l, err := parseLabel(label)
	if err != nil {
		return nil, err
	}
	if !c.mayPush(hostDir(l.Host)) {
		return nil, denied("%s may not push archives of host %s", c.id, hostDir(l.Host))
	}
	a := &incoming{r: r, version: l.Version, turn: ctxwait.NewMutex(), last: time.Now(), resumed: true}
	a.Owner, a.Label, a.Timeout = c.id, label, max(int(timeout/time.Second), 1)
	if err := r.register(a); err != nil {
		return nil, err
	}
	_ = a.turn.TryLock()
	defer a.turn.Unlock()
	if err := a.create(hostDir(l.Host), baseName(l.Start, r.opts.UTC)); err != nil {
		r.finish(a)
		return nil, err
	}
	r.stats.archives.Add(1)
	r.log.Info("archive begins", slog.String("archive", a.Base), slog.String("client", a.Owner))
	return a, nil
}

// register adds an archive and gives it a number, unless that exceeds a limit.
func (r *Receiver) register(a *incoming) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return errClosed
	case len(r.archives) >= r.opts.Limits.MaxArchives:
		return errArchives
	case r.perClient[a.Owner] >= r.opts.Limits.MaxArchivesPerClient:
		return errClient
	case r.usage.stored[a.Owner] >= r.opts.Limits.maxStoredPerClient:
		return errStored
	}
	for a.Number == 0 || r.archives[a.Number] != nil {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		a.Number = binary.BigEndian.Uint32(b[:]) & maxNumber
	}
	r.archives[a.Number] = a
	r.perClient[a.Owner]++
	return nil
}

// create creates the metadata and the index, under the first free name.
func (a *incoming) create(dir, name string) (err error) {
	root := a.r.root
	if err := root.MkdirAll(dir, 0o775); err != nil {
		return err
	}
	if err := root.MkdirAll(stateDir, 0o700); err != nil {
		return err
	}
	first := path.Join(dir, name)
	n, taken := a.r.nextName(first), map[string]bool(nil)
	if n == 0 {
		if taken, err = a.taken(dir); err != nil {
			return err
		}
	}
	for ; ; n++ {
		base := name
		if n > 0 {
			base += fmt.Sprintf("-%02d", n)
		}
		if taken[base] {
			continue
		}
		if a.Base = path.Join(dir, base); !a.r.own(a) {
			continue
		}
		if a.meta, err = a.createFile(archive.VolumeMeta); err == nil {
			a.r.noteName(first, n)
			break
		}
		a.r.disown(a)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if a.index, err = a.createFile(archive.VolumeIndex); err != nil {
		a.index = nil
		return err
	}
	return a.save()
}

// maxNames limits the names in Receiver.names.
const maxNames = 1000

// nextName returns the number that the next archive with a name gets, 0 if it is not known.
// It saves work if a client begins many archives in one minute: the receiver would otherwise read
// the directory and try all taken names for each of them.
func (r *Receiver) nextName(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name]
}

// noteName records that an archive with a name got number n.
func (r *Receiver) noteName(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil || len(r.names) >= maxNames {
		r.names = map[string]int{}
	}
	r.names[name] = max(r.names[name], n+1)
}

// taken returns the names of archives in a directory.
func (a *incoming) taken(dir string) (map[string]bool, error) {
	d, err := a.r.root.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[baseOf(name)] = true
	}
	return taken, errors.Join(err, d.Close())
}

// own registers the owner of an archive, and returns false if its name is taken.
func (r *Receiver) own(a *incoming) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.usage.owners[a.Base]; taken {
		return false
	}
	r.usage.own(a.Base, a.Owner)
	return true
}

// disown gives up the name of an archive that could not be created or was removed.
func (r *Receiver) disown(a *incoming) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.disown(a.Base)
	a.Base = ""
}

// fileName returns the name of a file of the archive.
func (a *incoming) fileName(volume int) string {
	switch volume {
	case archive.VolumeMeta:
		return a.Base + ".meta"
	case archive.VolumeIndex:
		return a.Base + ".index"
	}
	return a.Base + "." + strconv.Itoa(volume)
}

// find returns an archive of the client, and waits for its turn.
func (r *Receiver) find(q *request, number uint32) (*incoming, error) {
	r.mu.Lock()
	a, closed := r.archives[number], r.closed
	r.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case a == nil || a.Owner != q.client.id:
		return nil, errGone
	}
	if err := a.turn.Lock(q.r.Context()); err != nil {
		return nil, errBusy
	}
	r.mu.Lock()
	closed = r.closed
	r.mu.Unlock()
	if a.finished || closed {
		a.turn.Unlock()
		if closed {
			return nil, errClosed
		}
		return nil, errGone
	}
	now := time.Now()
	a.longest, a.last = max(a.longest, now.Sub(a.last)), now
	if err := a.resume(); err != nil {
		a.turn.Unlock()
		return nil, err
	}
	return a, nil
}

// file returns the file that a request is for. It creates the file of a new volume.
func (a *incoming) file(volume int) (*file, error) {
	switch {
	case volume == archive.VolumeMeta:
		return a.meta, nil
	case volume == archive.VolumeIndex:
		return a.index, nil
	case a.data != nil && volume == a.volume:
		return a.data, nil
	case a.data != nil && volume < a.volume:
		return nil, &failure{http.StatusConflict, fmt.Sprintf("volume %d after volume %d", volume, a.volume)}
	case volume >= maxVolume:
		return nil, &failure{http.StatusInternalServerError, fmt.Sprintf("volume %d", volume)}
	}
	f, err := a.createFile(volume)
	if errors.Is(err, fs.ErrExist) {
		return nil, &failure{http.StatusConflict, f.name + " exists"}
	}
	if err != nil {
		return nil, err
	}
	if a.data != nil {
		if err := a.data.close(); err != nil {
			a.r.log.Error("volume ends", slog.String("file", a.data.name), slog.Any("err", err))
		}
	}
	a.data, a.volume = f, volume
	return f, nil
}

// all returns the open files. Some may be nil.
func (a *incoming) all() []*file { return []*file{a.data, a.meta, a.index} }

// sync flushes the files to the disk, the index last, because it refers to the others.
func (a *incoming) sync() error {
	for _, f := range a.all() {
		if err := f.sync(); err != nil {
			return err
		}
	}
	return nil
}

// close closes the files. It discards incomplete records.
func (a *incoming) close() error {
	var errs []error
	for _, f := range a.all() {
		errs = append(errs, f.close())
	}
	a.meta, a.index, a.data, a.resumed = nil, nil, nil, false
	return errors.Join(errs...)
}

// hasVolume reports whether the archive has a volume. It also returns true if it cannot tell.
func (a *incoming) hasVolume() bool {
	n, err := a.lastVolume()
	return n >= 0 || err != nil
}

// lastVolume returns the largest number of a volume, or -1 if the archive has no volume.
func (a *incoming) lastVolume() (last int, err error) {
	last = -1
	dir, base := path.Split(a.Base)
	if base == "" {
		return last, nil
	}
	d, err := a.r.root.Open(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return last, err
	}
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, base+"."); ok {
			if n, err := strconv.ParseUint(number, 10, 16); err == nil && n < maxVolume && strconv.FormatUint(n, 10) == number {
				last = max(last, int(n))
			}
		}
	}
	return last, errors.Join(err, d.Close())
}

// remove removes an archive that has no volume.
func (a *incoming) remove() error {
	if a.Base == "" {
		return nil
	}
	var errs []error
	for _, volume := range []int{archive.VolumeMeta, archive.VolumeIndex} {
		name := a.fileName(volume)
		info, err := a.r.root.Lstat(name)
		if err == nil {
			err = a.r.root.Remove(name)
		}
		if err == nil {
			a.r.release(a, info.Size())
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	a.r.disown(a)
	if err := a.r.root.Remove(a.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// resume opens the files of an archive of an earlier Receiver.
func (a *incoming) resume() error {
	if a.resumed {
		return nil
	}
	last, err := a.lastVolume()
	if err == nil {
		a.meta, err = a.openFile(archive.VolumeMeta)
	}
	if err == nil {
		a.index, err = a.openFile(archive.VolumeIndex)
	}
	if err == nil && last >= 0 {
		a.volume = last
		a.data, err = a.openFile(last)
	}
	switch {
	case err == nil:
		a.resumed = true
	case errors.Is(err, os.ErrNotExist): // it was removed or compressed
		_ = a.close()
		a.r.finish(a)
		err = errGone
	default:
		_ = a.close()
	}
	return err
}
