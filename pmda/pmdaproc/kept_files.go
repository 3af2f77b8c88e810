package pmdaproc

import (
	"sync"
	"sync/atomic"
	"time"
)

// keptFiles are files of processes that stay open for clients that read them repeatedly, because
// opening and closing such a file takes as long as reading it. The kernel checks the reader's
// rights at each read of a kept file. Files that only some users may open are kept only for the
// agent's own user. Files that show the memory that the process had when they were opened, such as
// environ, are not kept, because the process may execute another program.
type keptFiles struct {
	limit int           // maximum of open
	open  *atomic.Int64 // number of open files of all tables

	mu    sync.Mutex
	files map[keptFile]file
	idle  *time.Timer // closes them

	now  time.Time             // of the reading
	read [fileKinds]readingsOf // of the files of a kind
}

// A keptFile identifies a file: the ID of the process and the kind.
type keptFile uint64

func keptFileOf(id pid, kind int) keptFile { return keptFile(id)<<8 | keptFile(kind) }

// readingsOf are the times of the last two readings that read files of one kind.
type readingsOf struct{ last, before time.Time }

const (
	keptTime = time.Minute // how long unread files are kept
	mostKept = 16 << 10    // each takes 5 KB in the kernel
)

// startReading starts a reading.
func (k *keptFiles) startReading() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = time.Now()
	if len(k.files) > 0 {
		k.idle.Reset(keptTime)
	}
}

// readAgain reads a file that is kept. It is not ok if the file is not kept or if the process has
// ended. Another process may have its ID by then.
func (k *keptFiles) readAgain(id pid, kind int, buf []byte) (n int, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := &k.read[kind]; r.last != k.now {
		r.last, r.before = k.now, r.last
	}
	f, ok := k.files[keptFileOf(id, kind)]
	if !ok {
		return 0, false
	}
	n, err := f.readAt(buf)
	if err != nil || n == len(buf) {
		k.close(f)
		delete(k.files, keptFileOf(id, kind))
		return 0, false
	}
	return n, true
}

// keep keeps a file open if files of this kind have been read recently. It reports whether the file
// is kept.
func (k *keptFiles) keep(id pid, kind int, f file) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := &k.read[kind]
	if int(k.open.Load()) >= k.limit || r.before.IsZero() || r.last.Sub(r.before) > keptTime {
		return false
	}
	if k.files == nil {
		k.files = map[keptFile]file{}
		if k.idle == nil {
			k.idle = time.AfterFunc(keptTime, k.closeAll)
		} else {
			k.idle.Reset(keptTime)
		}
	}
	k.files[keptFileOf(id, kind)] = f
	k.open.Add(1)
	return true
}

// close closes a file that was kept.
func (k *keptFiles) close(f file) {
	f.close()
	k.open.Add(-1)
}

// drop closes the files of a process that has ended.
func (k *keptFiles) drop(id pid) {
	if k.limit == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.files) == 0 {
		return
	}
	for kind := range fileKinds {
		if f, ok := k.files[keptFileOf(id, kind)]; ok {
			k.close(f)
			delete(k.files, keptFileOf(id, kind))
		}
	}
}

// closeAll closes all files.
func (k *keptFiles) closeAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.files {
		k.close(f)
	}
	k.files = nil
}
