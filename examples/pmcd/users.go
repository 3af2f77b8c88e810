package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda/collector"
)

// saslDir is where the Cyrus library keeps configurations.
const saslDir = "/etc/sasl2"

// setUsers lets those users log in that PCP's pmcd would: as pmcd.conf of the Cyrus library says, in the first directory of
// PCP_SASL2_CONFIG_PATH that has one, or else in that of PCP's configuration. There need not be any.
func setUsers(srv *collector.Server, conf *pcpconf.Conf) {
	dirs := cmp.Or(os.Getenv("PCP_SASL2_CONFIG_PATH"), conf.Get("PCP_SASLCONF_DIR"), saslDir)
	c := sasl.Config{Database: sasl.DefaultDatabase}
	for dir := range strings.SplitSeq(dirs, ":") {
		path := filepath.Join(dir, "pmcd.conf")
		found, err := sasl.LoadConfig(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			srv.Logger.Error("users: "+err.Error(), slog.String("config", path))
		}
		c = found
		break
	}
	if c.Check != "" && c.Check != "auxprop" {
		srv.Logger.Warn(fmt.Sprintf("pwcheck_method: %s: only auxprop is supported", c.Check))
	}
	srv.Users, srv.Mechanisms = c.Users(), c.Mechanisms
}
