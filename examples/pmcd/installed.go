package main

import (
	"os"
	"path/filepath"

	"github.com/pcp-go/pcp/internal/pcpconf"
)

// installed reports whether this program stands in PCP_BINADM_DIR, where the scripts that start PCP
// look for pmcd, or was called there by a link.
func installed(conf *pcpconf.Conf) bool {
	dir, err := os.Stat(conf.Get("PCP_BINADM_DIR"))
	if err != nil {
		return false
	}
	in := func(program string) bool {
		st, err := os.Stat(filepath.Dir(program))
		return err == nil && os.SameFile(st, dir)
	}
	if self, err := os.Executable(); err == nil && in(self) {
		return true
	}
	called := os.Args[0]
	return called != filepath.Base(called) && in(called)
}

// beInstalled fills in what pmcd(1) does without options: it runs the configuration file of PCP as
// PCP's user, and reports why it did not start to the terminal.
func (o *options) beInstalled(conf *pcpconf.Conf) {
	for _, d := range []struct {
		option *string
		value  string
	}{
		{&o.config, conf.Get("PCP_PMCDCONF_PATH")},
		{&o.user, conf.Get("PCP_USER")},
		{&o.report, "/dev/tty"},
	} {
		if *d.option == "" {
			*d.option = d.value
		}
	}
}
