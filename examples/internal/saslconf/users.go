package saslconf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda/collector"
)

// saslDir is where the Cyrus library keeps configurations.
const saslDir = "/etc/sasl2"

// SetUsers lets those users log in that PCP's pmcd would: as pmcd.conf of the Cyrus library says,
// in the first directory of PCP_SASL2_CONFIG_PATH that has one, or else in that of PCP's
// configuration. There need not be any.
func SetUsers(srv *collector.Server, conf *pcpconf.Conf) {
	dirs := cmp.Or(os.Getenv("PCP_SASL2_CONFIG_PATH"), conf.Get("PCP_SASLCONF_DIR"), saslDir)
	var c config
	for dir := range strings.SplitSeq(dirs, ":") {
		path := filepath.Join(dir, "pmcd.conf")
		found, err := load(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			srv.Logger.Error("users: "+err.Error(), slog.String("config", path))
		}
		c = found
		break
	}
	for _, text := range unsupported(c) {
		srv.Logger.Warn(text)
	}
	srv.Users, srv.Mechanisms = c.users(), c.mechanisms
}

// unsupported reports the settings that this program does not support, and what to do. It does not
// support passwords that a saslauthd checks, and mechanisms of tickets such as GSSAPI.
func unsupported(c config) (texts []string) {
	const none = "nobody can log in"
	if c.check != "" && c.check != "auxprop" {
		effect := none
		if slices.Contains(strings.Fields(c.check), "auxprop") {
			effect = "the others are left out"
		}
		texts = append(texts, fmt.Sprintf("pwcheck_method: %s: only auxprop is supported, so %s; users of auxprop are made by saslpasswd2 -a pmcd", c.check, effect))
	}
	unknown := slices.DeleteFunc(slices.Clone(c.mechanisms), func(name string) bool {
		_, known := sasl.Find(name)
		return known
	})
	if len(unknown) > 0 {
		effect := "they are left out"
		if len(unknown) == len(c.mechanisms) {
			effect = none
		}
		texts = append(texts, fmt.Sprintf("mech_list: %s: only scram-sha-256, plain and login are supported, so %s", strings.Join(unknown, " "), effect))
	}
	return texts
}
