package pcptool

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/pcpconf"
)

// Config returns a setting of PCP, such as PCP_PMDAS_DIR: the environment's, even if it is empty;
// else that of pcp.conf; else what Debian has, for systems without PCP; else "". The file is
// $PCP_CONF, or etc/pcp.conf below $PCP_DIR, or /etc/pcp.conf; the error is that of one that cannot
// be read, or that the environment names in vain. The counterpart of pmGetConfig(3), which ends the
// program then.
func Config(name string) (string, error) {
	conf, err := pcpconf.Load("")
	if err != nil {
		return "", fmt.Errorf("tool: %s: %w", name, err)
	}
	return conf.Get(name), nil
}
