package retention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
)

// A maintainer is the state of one Maintain call.
type maintainer struct {
	*Options
	dir  string
	work string // directory for incomplete files
	lock *lock
}

// workName is the name of the subdirectory for incomplete archives.
const workName = ".retention"

// Maintain applies the options once, in this order: it completes the work of a Maintain that
// crashed, removes archives by age, merges those of each past day, compresses, and removes archives
// for MaxBytes. If an archive fails, Maintain continues with the others and returns all errors
// joined. If ctx ends, it stops, and the errors include the cause. The error is [ErrLocked] if the
// directory is already being maintained.
func Maintain(ctx context.Context, dir string, o Options) (err error) {
	o.complete()
	var errs []error
	m := &maintainer{Options: &o, dir: dir, work: filepath.Join(dir, workName)}
	if !o.DryRun {
		if m.lock, err = acquire(dir, m.work); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.lock.release()) }()
		if err := m.recover(); err != nil {
			return err
		}
		if err := m.recoverCompressed(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	for _, step := range []func(context.Context, []*group) error{m.cull, m.merge, m.compress, m.purge} {
		if err := context.Cause(ctx); err != nil {
			errs = append(errs, err)
			break
		}
		groups, err := scan(dir)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if err := step(ctx, groups); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writing reports whether the archive g is being written.
func (m *maintainer) writing(groups []*group, g *group) bool {
	if m.Writing != nil {
		return m.Writing(g.base)
	}
	end := slices.IndexFunc(groups, func(g *group) bool { return g.day > m.today() }) // later days come from a wrong clock
	if end < 0 {
		end = len(groups)
	}
	return g.day > m.today() || end > 0 && g == groups[end-1]
}

// cull removes archives by their age.
func (m *maintainer) cull(_ context.Context, groups []*group) error {
	if m.Keep <= 0 {
		return nil
	}
	var errs []error
	for _, g := range groups {
		if m.writing(groups, g) || m.Now.Sub(g.mtime) <= m.Keep {
			continue
		}
		if err := m.remove(g); err != nil {
			errs = append(errs, err)
			continue
		}
		m.did("culled", "", g.base)
	}
	return errors.Join(errs...)
}

// purge removes the oldest archives while the total size exceeds MaxBytes.
func (m *maintainer) purge(_ context.Context, groups []*group) error {
	total := int64(0)
	for _, g := range groups {
		total += g.size
	}
	var errs []error
	for _, g := range groups {
		if m.MaxBytes <= 0 || total <= m.MaxBytes {
			break
		}
		if m.writing(groups, g) {
			continue
		}
		if err := m.remove(g); err != nil {
			errs = append(errs, err)
			continue
		}
		total -= g.size
		m.did("purged", "", g.base)
	}
	return errors.Join(errs...)
}

// remove removes an archive, its metadata first.
func (m *maintainer) remove(g *group) error {
	if m.DryRun {
		return nil
	}
	for _, f := range g.files {
		m.at("remove " + f.name)
		if err := os.Remove(filepath.Join(m.dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// afterMidnight is the delay of Run after midnight, as in PCP: by then the logger has begun a new
// archive.
const afterMidnight = 10 * time.Minute

// retryLocked is the delay of Run if the directory is already being maintained.
const retryLocked = 10 * time.Minute

// Run calls Maintain at once, and then each day ten minutes after midnight, until ctx ends. It
// returns the cause of ctx. If the directory is already being maintained, Run tries again after ten
// minutes. It logs the errors of Maintain. Options.Now is not used.
func Run(ctx context.Context, dir string, o Options) error {
	o.complete()
	for {
		o.Now = time.Now()
		err := Maintain(ctx, dir, o)
		if err != nil && ctx.Err() == nil {
			o.Logger.Error("maintaining archives", "dir", dir, "err", err)
		}
		pause := time.Until(nextDay(time.Now().Add(-afterMidnight).In(o.Location)).Add(afterMidnight))
		if errors.Is(err, ErrLocked) {
			pause = min(pause, retryLocked)
		}
		if ctxwait.Sleep(ctx, pause) != nil {
			return context.Cause(ctx)
		}
	}
}

// failed adds to err the action and the name that it concerns.
func failed(what, name string, err error) error {
	return fmt.Errorf("retention: %s %s: %w", what, name, err)
}
