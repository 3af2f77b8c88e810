// Package pmcdfiles reads the files of a pmcd, at its start and again when it is reset: the
// configuration file, the name space and tls.conf.
package pmcdfiles

import (
	"path/filepath"

	"github.com/pcp-go/pcp/examples/internal/saslconf"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// Files are the files of a pmcd. One goroutine at a time may use them.
type Files struct {
	Conf      *pcpconf.Conf // the directories
	Config    string        // the configuration file; empty for none
	Names     string        // the name space; empty for PCP's if there is a configuration file
	Unique    bool          // each metric of the name space has one name
	Installed bool          // the program replaces PCP's pmcd, and errors have its words

	// Parsed is what LoadConfig has read, nil without a configuration file.
	Parsed *pmcdconf.Config
	// Problems are for the log. LoadConfig adds bad lines and warnings; the caller may add others.
	Problems []error
	// TLS is what LoadTLS has read.
	TLS *tlsconf.File

	configRead [2]fileVersion // the configuration file, and that of further access rules, when they were read
	namesRead  fileVersion    // the name space when it was read
}

// Configure sets what the files and PCP's directories say of a collector, except for its names and
// agents. Without a configuration file it does nothing.
func (f *Files) Configure(srv *collector.Server) {
	if f.Parsed == nil {
		return
	}
	srv.TmpDir, srv.RunDir = f.Conf.Get("PCP_TMP_DIR"), f.Conf.Get("PCP_RUN_DIR")
	srv.HelpDir = filepath.Join(f.Conf.Get("PCP_PMDAS_DIR"), "pmcd")
	srv.Labels = collector.SystemLabels(f.Conf.Get("PCP_SYSCONF_DIR"))
	srv.Access, srv.Limits = f.Parsed.Access, f.Parsed.Limits
	saslconf.SetUsers(srv, f.Conf)
}
