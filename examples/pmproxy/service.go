package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pcpconf"
)

// becomeService makes the listening program a service, with the privileges of its start. With -F it
// writes its process identifier to pmproxy.pid and tells the service manager that it is ready.
// Unless -f says otherwise, it then becomes the user of -U. undo removes the file and tells the
// service manager of the end.
func (o *options) becomeService() (undo func(), err error) {
	undo = func() {}
	if o.managed {
		conf, err := pcpconf.Load("")
		if err != nil {
			return undo, err
		}
		pid, err := daemonfile.CreatePID(filepath.Join(conf.Get("PCP_RUN_DIR"), "pmproxy.pid"))
		if err := errors.Join(err, daemonfile.Notify("READY=1\nMAINPID="+strconv.Itoa(os.Getpid()))); err != nil {
			slog.Warn("service", slog.Any("err", err))
		}
		undo = func() {
			_ = daemonfile.Notify("STOPPING=1") // an error would change nothing now
			if pid != nil {
				_ = errors.Join(pid.Remove(), pid.Close()) // one that is left does no harm
			}
		}
	}
	if o.user != "" && !o.foreground {
		err = account.Become(o.user)
	}
	return undo, err
}
