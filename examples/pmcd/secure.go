package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmda/collector"
)

// loadTLS reads the tls.conf of PCP or of PCP_TLSCONF_PATH. It runs before the agents start,
// because a fault ends the program.
func (d *daemon) loadTLS(out io.Writer, log *slog.Logger) error {
	path := d.conf.Get("PCP_TLSCONF_PATH")
	if d.config == "" { // without -c no file of PCP is read that the user has not named
		path = os.Getenv("PCP_TLSCONF_PATH")
	}
	d.tls = tlsconf.NewServer(path, func(err error) {
		if err != nil {
			log.Error("TLS goes on as it was", slog.Any("err", err))
		} else {
			log.Info("TLS: files have changed and are in use now")
		}
	})
	if os.Getenv("PCP_TLSCONF_PATH") != "" {
		d.tls.Require()
	}
	if err := d.tls.Reload(); err != nil {
		return err
	}
	if d.webTLS && d.tls.Serving() == nil {
		return errors.New("--web-tls needs a certificate: set tls-cert-file and tls-key-file in the tls.conf that PCP_TLSCONF_PATH names")
	}
	d.announceTLS(out, log)
	return nil
}

// announceTLS logs the use of TLS, if it is in use, in the line that scripts expect, which names
// OpenSSL.
func (d *daemon) announceTLS(out io.Writer, log *slog.Logger) {
	if d.tls.Serving() == nil {
		return
	}
	log.Info("OpenSSL (crypto/tls of " + runtime.Version() + ") setup")
	conf := d.tls.Settings()
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
func (d *daemon) reloadTLS(srv *collector.Server, log *slog.Logger) {
	if err := d.tls.Reload(); err != nil {
		log.Error("TLS is left unchanged", slog.Any("err", err))
		return
	}
	srv.SetTLS(d.tls.Serving())
}
