package pmcdfiles

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmda/collector"
)

// LoadTLS reads the tls.conf of PCP or of PCP_TLSCONF_PATH, and logs the use of TLS to out and log.
func (f *Files) LoadTLS(out io.Writer, log *slog.Logger) error {
	path := f.Conf.Get("PCP_TLSCONF_PATH")
	if f.Config == "" { // without -c no file of PCP is read that the user has not named
		path = os.Getenv("PCP_TLSCONF_PATH")
	}
	f.TLS = tlsconf.NewServer(path, func(err error) {
		if err != nil {
			log.Error("TLS goes on as it was", slog.Any("err", err))
		} else {
			log.Info("TLS: files have changed and are in use now")
		}
	})
	if os.Getenv("PCP_TLSCONF_PATH") != "" {
		f.TLS.Require()
	}
	if err := f.TLS.Reload(); err != nil {
		return err
	}
	f.announceTLS(out, log)
	return nil
}

// announceTLS logs the use of TLS, if it is in use, in the line that scripts expect, which names
// OpenSSL.
func (f *Files) announceTLS(out io.Writer, log *slog.Logger) {
	if f.TLS.Serving() == nil {
		return
	}
	log.Info("OpenSSL (crypto/tls of " + runtime.Version() + ") setup")
	conf := f.TLS.Settings()
	switch {
	case conf.CipherSuites != "":
		fmt.Fprintf(out, "Using cipher suites: %s\n", conf.CipherSuites)
	case conf.Ciphers != "":
		fmt.Fprintf(out, "Using cipher list: %s\n", conf.Ciphers)
	}
	for _, w := range conf.Warnings() {
		log.Warn(w)
	}
}

// reloadTLS applies the present tls.conf to new clients. It may also enable or disable TLS.
func (f *Files) reloadTLS(srv *collector.Server, log *slog.Logger) {
	if err := f.TLS.Reload(); err != nil {
		log.Error("TLS is left unchanged", slog.Any("err", err))
		return
	}
	srv.SetTLS(f.TLS.Serving())
}
