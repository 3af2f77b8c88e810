package main

import (
	"errors"
	"log/slog"
	"path/filepath"

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
		var pidErr, notifyErr error
		undo, pidErr, notifyErr = daemonfile.Register(filepath.Join(conf.Get("PCP_RUN_DIR"), "pmproxy.pid"))
		if err := errors.Join(pidErr, notifyErr); err != nil {
			slog.Warn("service", slog.Any("err", err))
		}
	}
	if o.user != "" && !o.foreground {
		err = account.Become(o.user)
	}
	return undo, err
}
