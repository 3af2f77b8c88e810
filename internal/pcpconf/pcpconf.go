// Package pcpconf reads pcp.conf, the file that says where PCP's files and
// directories are, in lines NAME=value. It is for main packages: it reads the
// environment and /etc.
package pcpconf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// DefaultPath is where pcp.conf is, below $PCP_DIR, unless $PCP_CONF says
// otherwise.
const DefaultPath = "/etc/pcp.conf"

// defaults are the settings of Debian, for systems without PCP.
var defaults = map[string]string{
	"PCP_BIN_DIR":          "/usr/bin",
	"PCP_BINADM_DIR":       "/usr/lib/pcp/bin",
	"PCP_SHARE_DIR":        "/usr/share/pcp",
	"PCP_SYSCONF_DIR":      "/etc/pcp",
	"PCP_PMCDCONF_PATH":    "/etc/pcp/pmcd/pmcd.conf",
	"PCP_PMCDOPTIONS_PATH": "/etc/pcp/pmcd/pmcd.options",
	"PCP_TLSCONF_PATH":     "/etc/pcp/tls.conf",
	"PCP_VAR_DIR":          "/var/lib/pcp",
	"PCP_PMDAS_DIR":        "/var/lib/pcp/pmdas",
	"PCP_TMP_DIR":          "/var/lib/pcp/tmp",
	"PCP_TMPFILE_DIR":      "/var/tmp",
	"PCP_RUN_DIR":          "/run/pcp",
	"PCP_LOG_DIR":          "/var/log/pcp",
	"PCP_ARCHIVE_DIR":      "/var/log/pcp/pmlogger",
	"PCP_USER":             "pcp",
	"PCP_GROUP":            "pcp",
}

// A Conf is a set of settings. The zero Conf has the defaults. It does not change
// and is safe for concurrent use.
type Conf struct {
	file map[string]string
}

// Load reads a file of settings; an empty path means $PCP_CONF, or else
// DefaultPath below $PCP_DIR. A file that does not exist leaves the defaults,
// unless the caller or the environment has named it. Errors name the file.
func Load(path string) (*Conf, error) {
	if path == "" {
		path = os.Getenv("PCP_CONF")
	}
	dir := os.Getenv("PCP_DIR")
	named := path != "" || dir != ""
	if path == "" {
		path = dir + DefaultPath
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return new(Conf), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads the text of a file of settings. Lines that start with "#" are
// comments. Quotes around a value are removed, blanks behind it are not. The
// first line for a name counts.
func Parse(r io.Reader) (*Conf, error) {
	c := &Conf{file: map[string]string{}}
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		name, value, ok := strings.Cut(lines.Text(), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if l := len(value); l >= 2 && (value[0] == '"' || value[0] == '\'') && value[l-1] == value[0] {
			value = value[1 : l-1]
		}
		if _, ok := c.file[name]; !ok {
			c.file[name] = value
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return c, nil
}

// Get returns a setting: that of the environment, even if it is empty; else that
// of the file; else the default; else "". The counterpart of pmGetConfig(3), which
// ends the program if there is no file, and of pmGetOptionalConfig(3).
func (c *Conf) Get(name string) string {
	if v, ok := os.LookupEnv(name); ok {
		return v
	}
	if v, ok := c.file[name]; ok {
		return v
	}
	return defaults[name]
}

// Environ is all settings as NAME=value, sorted: what a collector adds to the
// environment of the agents that it starts.
func (c *Conf) Environ() []string {
	names := maps.Clone(defaults)
	maps.Copy(names, c.file)
	env := make([]string, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		env = append(env, name+"="+c.Get(name))
	}
	return env
}
