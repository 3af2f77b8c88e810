package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/internal/tlsconf"
)

// A config is the part of the section pmproxy of a configuration file that concerns this program.
// It lacks settings of a key server, which this program does not use, and of the implementation of
// PCP's pmproxy.
type config struct {
	noPCP, noHTTP, noTLS bool // pcp.enabled, http.enabled and secure.enabled are false
	tls                  tlsconf.Conf
}

// readConfig reads a configuration file.
func readConfig(path string) (c config, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	section, n := "", 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			if section, ok = strings.CutSuffix(name, "]"); !ok {
				return c, fmt.Errorf("%s:%d: section %q does not end in ]", path, n, line)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "", line[0] == '#', line[0] == ';':
		case !ok:
			return c, fmt.Errorf("%s:%d: no = in %q", path, n, line)
		case strings.TrimSpace(section) != "pmproxy":
		default:
			value, _, _ = strings.Cut(value, " #")
			if err := c.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
				return c, fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
	}
	return c, nil
}

// set sets what a key of the section stands for.
func (c *config) set(key, value string) error {
	off := map[string]*bool{"pcp.enabled": &c.noPCP, "http.enabled": &c.noHTTP, "secure.enabled": &c.noTLS}[key]
	text := map[string]*string{"certificates": &c.tls.CertFile, "private_key": &c.tls.KeyFile, "authority": &c.tls.CAFile,
		"cipher_list": &c.tls.Ciphers, "cipher_suites": &c.tls.CipherSuites}[key]
	switch {
	case text != nil:
		*text = value
	case off != nil && value != "true" && value != "false":
		return fmt.Errorf("%s is true or false, not %q", key, value)
	case off != nil:
		*off = value == "false"
	}
	return nil
}

// serving returns the TLS configuration of the server: that of the configuration file, or if the
// file has no certificate, that of tls.conf. It is nil if the server does not use TLS.
func (c *config) serving() (*tls.Config, error) {
	if c.noTLS {
		return nil, nil
	}
	if c.tls.CertFile != "" {
		return c.tls.Server()
	}
	path := os.Getenv("PCP_TLSCONF_PATH")
	file := tlsconf.NewServer(path, nil)
	if path != "" {
		file.Require()
	}
	if err := file.Reload(); err != nil {
		return nil, err
	}
	return file.Serving(), nil
}
