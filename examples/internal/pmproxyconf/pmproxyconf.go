// Package pmproxyconf reads the configuration file of pmproxy.
package pmproxyconf

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/internal/tlsconf"
)

// A Config is the part of the section pmproxy that a gateway uses. Settings of a key server and of
// the implementation of PCP's pmproxy are ignored. The zero value enables everything.
type Config struct {
	NoPCP, NoHTTP, noTLS bool // pcp.enabled, http.enabled and secure.enabled are false
	tls                  tlsconf.Conf
}

// Read reads a configuration file. An empty path stands for an empty file.
func Read(path string) (c Config, err error) {
	if path == "" {
		return c, nil
	}
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
func (c *Config) set(key, value string) error {
	off := map[string]*bool{"pcp.enabled": &c.NoPCP, "http.enabled": &c.NoHTTP, "secure.enabled": &c.noTLS}[key]
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

// Serving returns the TLS configuration of the server: that of the configuration file, or if the
// file has no certificate, that of tls.conf. It is nil if the server does not use TLS.
func (c *Config) Serving() (*tls.Config, error) {
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
