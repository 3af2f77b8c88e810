//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// hideInput makes a terminal hide typed text until restore is called, or until a signal ends the
// program.
func hideInput(f *os.File) (restore func(), err error) {
	fd := int(f.Fd())
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hidden := *was
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, err
	}
	show := sync.OnceFunc(func() { _ = unix.IoctlSetTermios(fd, setTermios, was) })
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case s := <-signals:
			show()
			signal.Stop(signals)
			signal.Reset(s)
			_ = unix.Kill(unix.Getpid(), s.(syscall.Signal))
		case <-done:
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		watching.Wait()
		show()
	}, nil
}
