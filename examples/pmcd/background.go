package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pcpconf"
)

// inBackground reports whether the program leaves the terminal, as a service does.
func (o *options) inBackground() bool { return o.isService() && !o.managed }

// isService reports whether the program does what a service does: it has a file with its process
// identifier, tells the service manager of its states, and becomes another user.
func (o *options) isService() bool { return o.config != "" && (o.managed || !o.foreground) }

// becomeService is what a service does when its agents have
// started, with the privileges that it was started with: it writes its process
// identifier to pmcd.pid, tells the service manager that it is ready, and becomes the
// user of -U. Undo removes the file and tells the service manager of the end.
func (o *options) becomeService(conf *pcpconf.Conf, log *slog.Logger) (undo func(), err error) {
	if !o.isService() {
		return func() {}, nil
	}
	pidFile, err := daemonfile.CreatePID(filepath.Join(conf.Get("PCP_RUN_DIR"), "pmcd.pid"))
	if err != nil {
		log.Warn("process id not noted", slog.Any("err", err))
	}
	if err := daemonfile.Notify("READY=1\nMAINPID=" + strconv.Itoa(os.Getpid())); err != nil {
		log.Warn("service manager not told", slog.Any("err", err))
	}
	undo = func() {
		daemonfile.Notify("STOPPING=1") // an error would change nothing now
		if pidFile != nil {
			pidFile.Remove() // one that is left does no harm
			pidFile.Close()
		}
	}
	if o.user != "" {
		if err := account.Become(o.user); err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}
