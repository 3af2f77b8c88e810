package pmlogger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/recordpipe"
)

// pidPoll is the interval between checks of the process of -p.
const pidPoll = time.Second

// An endReason is the reason that makes this program end the logger.
type endReason struct {
	text   string
	reexec bool // the program starts itself again then
}

func (r endReason) Error() string { return r.text }

// record records until the logger ends.
func (p *program) record(ctx context.Context) error {
	p.begun = time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	p.stop = cancel
	var wg sync.WaitGroup
	remove := func() {}
	defer func() {
		cancel(nil)
		wg.Wait()
		remove()
	}()
	err := p.loggers(ctx, func(l *logger.Logger) (err error) {
		first := p.logger.Swap(l) == nil
		p.base = l.Base()
		announced, err := p.announce()
		if err != nil {
			return err
		}
		if remove = announced; first {
			p.follow(ctx, &wg)
		}
		return nil
	})
	if reason, ok := errors.AsType[endReason](context.Cause(ctx)); ok && err == nil {
		p.reexec = reason.reexec
		p.ending(reason.text)
	}
	if errors.Is(err, logger.ErrMetricsChanged) {
		return errFailed
	}
	return err
}

// follow starts the goroutines that control the logger.
func (p *program) follow(ctx context.Context, wg *sync.WaitGroup) {
	wg.Go(func() { p.serve(ctx) })
	wg.Go(func() { p.followSignals(ctx) })
	if p.opts.pid != 0 {
		wg.Go(func() { p.watchProcess(ctx) })
	}
	if p.opts.control >= 0 {
		go p.followLauncher(ctx) // it may never end: the pipe can be a file
	}
}

// announce announces that the logger runs, in its map file and to the service manager. remove
// undoes that.
func (p *program) announce() (remove func(), err error) {
	dir := pmlc.MapDir(p.conf.Get("PCP_TMP_DIR"))
	if p.opts.primary {
		if err := p.alonePrimary(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o775); err != nil {
		fmt.Fprintf(p.w, "%s: error creating port file dir %s: %v\n", programName, dir, err)
	}
	note := p.opts.note
	if note == "" && p.opts.control >= 0 {
		note = fmt.Sprintf("-x %d", p.opts.control)
	}
	abs := p.base
	if path, err := filepath.Abs(p.base); err == nil && !isURL(p.base) {
		abs = path
	}
	process := pmlc.Process{PID: os.Getpid(), Port: p.port, Host: p.hostName, Archive: abs, Note: note}
	if err := pmlc.WriteMap(dir, process, p.opts.primary); err != nil {
		fmt.Fprintf(p.w, "%s: error creating %v\n", programName, err)
	}
	if (p.opts.note == checkNote || p.opts.note == reexecNote) && !isURL(p.base) {
		p.writeFolio()
	}
	p.notify(fmt.Sprintf("READY=1\nMAINPID=%d", os.Getpid()))
	return func() {
		if !p.reexec {
			p.notify("STOPPING=1")
		}
		_ = pmlc.RemoveMap(dir, os.Getpid()) // one that is left does no harm
	}, nil
}

// alonePrimary fails if another primary logger runs.
func (p *program) alonePrimary() error {
	pid, link := p.otherPrimary()
	if pid == 0 {
		return nil
	}
	fmt.Fprintf(p.w, "%s: ERROR: there is already a primary pmlogger running, pid %d linkfile=%s\n", programName, pid, link)
	return errFailed
}

// otherPrimary returns the ID of the process that runs as the primary logger, 0 if there is no such
// process, and the path of the link that names it.
func (p *program) otherPrimary() (pid int, link string) {
	link = filepath.Join(pmlc.MapDir(p.conf.Get("PCP_TMP_DIR")), "primary")
	to, err := os.Readlink(link)
	if err != nil {
		return 0, link
	}
	if _, err := fmt.Sscan(filepath.Base(to), &pid); err != nil || pid == os.Getpid() || pid <= 0 || !exists(pid) {
		return 0, link
	}
	return pid, link
}

// followSignals ends the logger, or its volume, on a signal.
func (p *program) followSignals(ctx context.Context) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, caught...)
	defer signal.Stop(signals)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			switch number, action := actionOf(s); action {
			case actVolume:
				_, _ = present{p}.NewVolume("SIGHUP") // it may have ended
			case actEnd, actReexec:
				p.stop(endReason{fmt.Sprintf("Caught signal %d", number), action == actReexec})
				return
			}
		}
	}
}

// watchProcess ends the logger when the process of -p has ended.
func (p *program) watchProcess(ctx context.Context) {
	tick := time.NewTicker(pidPoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !exists(p.opts.pid) {
				p.stop(endReason{text: "process from -p has vanished"})
				return
			}
		}
	}
}

// followLauncher ends the logger when the program that has started it requests that.
func (p *program) followLauncher(ctx context.Context) {
	pipe := os.NewFile(uintptr(p.opts.control), "control pipe")
	defer pipe.Close()
	s := &session{w: p.w, control: recordpipe.Read(pipe), logger: present{p}, host: p.hostName,
		confirm: p.conf.Get("PCP_XCONFIRM_PROG"), tmp: p.conf.Get("PCP_TMPFILE_DIR"), begun: p.begun}
	if s.run(ctx) {
		p.stop(endReason{text: "Recording session terminated"})
	}
}
