package push

import (
	"context"
	"io/fs"
	"log/slog"
	"path"
	"strings"
)

// A usage counts the bytes in the directory, in total and by client. Archives without a known owner
// count only in total.
type usage struct {
	total    int64
	clients  map[string]int64
	archives map[string]int64 // by base name
	owners   map[string]string
	stored   map[string]int // number of archives of each client
}

func newUsage() usage {
	return usage{clients: map[string]int64{}, archives: map[string]int64{}, owners: map[string]string{}, stored: map[string]int{}}
}

// add adds n bytes to an archive.
func (u *usage) add(base string, n int64) {
	u.total += n
	owner, known := u.owners[base]
	if !known {
		return
	}
	u.archives[base] += n
	u.clients[owner] += n
}

// own registers the owner of an archive.
func (u *usage) own(base, owner string) {
	if _, known := u.owners[base]; !known {
		u.owners[base] = owner
		u.stored[owner]++
	}
}

// disown forgets the owner of an archive.
func (u *usage) disown(base string) {
	owner, known := u.owners[base]
	if !known {
		return
	}
	delete(u.owners, base)
	delete(u.archives, base)
	if u.stored[owner]--; u.stored[owner] == 0 {
		delete(u.stored, owner)
	}
}

// reserveHeld reserves bytes of memory. It returns an error over a limit.
func (r *Receiver) reserveHeld(a *incoming, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch l := &r.opts.Limits; {
	case r.heldBy[a.Owner]+n > l.maxHeldPerClient:
		return errHeldByClient
	case r.held+n > l.maxHeld:
		return errHeld
	}
	r.held += n
	r.heldBy[a.Owner] += n
	return nil
}

// releaseHeld undoes reserveHeld.
func (r *Receiver) releaseHeld(a *incoming, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	if r.heldBy[a.Owner] -= n; r.heldBy[a.Owner] == 0 {
		delete(r.heldBy, a.Owner)
	}
}

// reserve reserves bytes of the directory. It returns an error over a limit.
func (r *Receiver) reserve(a *incoming, n int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.opts.Limits
	switch {
	case r.usage.archives[a.Base]+n > l.MaxArchiveBytes:
		return overQuota("MaxArchiveBytes")
	case r.usage.clients[a.Owner]+n > l.MaxClientBytes:
		return overQuota("MaxClientBytes")
	case r.usage.total+n > l.MaxBytes:
		return overQuota("MaxBytes")
	}
	r.usage.add(a.Base, n)
	return nil
}

// release undoes reserve, after a failed write or for bytes that were removed.
func (r *Receiver) release(a *incoming, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.add(a.Base, -n)
}

// baseOf is the base name of a file's archive, as far as the file's name tells.
func baseOf(name string) string {
	dir, file := path.Split(name)
	const dots = 3 // YYYYMMDD.HH.MM-01.0.xz
	parts := strings.SplitN(file, ".", dots+1)
	return dir + strings.Join(parts[:min(dots, len(parts))], ".")
}

// measure counts the bytes of all files. It may or may not count files that appear or disappear
// meanwhile.
func (r *Receiver) measure(ctx context.Context, u *usage) error {
	return fs.WalkDir(r.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil: // it has disappeared, or is not readable
			return nil
		case e.IsDir() && name == stateDir:
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		if info, err := e.Info(); err == nil {
			u.add(baseOf(name), info.Size())
		}
		return nil
	})
}

// recount counts the bytes again, because other programs remove and compress files. It forgets
// finished archives whose files have gone.
func (r *Receiver) recount(ctx context.Context) {
	u := newUsage()
	var finished []state
	err := r.readStates(func(s state) {
		u.own(s.Base, s.Owner)
		if s.Finished {
			finished = append(finished, s)
		}
	})
	if err == nil {
		err = r.measure(ctx, &u)
	}
	if err != nil {
		r.log.Warn("directory cannot be measured", slog.Any("err", err))
		return
	}
	for _, s := range finished {
		if u.archives[s.Base] == 0 {
			u.disown(s.Base)
			_ = r.root.Remove(s.path())
		}
	}
	r.mu.Lock()
	r.usage = u
	r.mu.Unlock()
}
