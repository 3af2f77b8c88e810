package sasl

import (
	"bufio"
	"cmp"
	"os"
	"slices"
	"strings"
)

// A Config is what a configuration file of the Cyrus library, such as /etc/sasl2/pmcd.conf, says of
// how users may log in.
type Config struct {
	Mechanisms []string // mech_list; nil without one
	Database   string   // sasldb_path, the path of a File; DefaultDatabase without one
	Check      string   // pwcheck_method; empty without one
}

// DefaultDatabase is where the Cyrus library keeps users where its configuration does not say.
const DefaultDatabase = "/etc/sasldb2"

// LoadConfig reads a configuration file, lines of the form "key: value". Lines that are empty,
// begin with "#", or have other keys than those of Config say nothing. Without the file the error
// wraps fs.ErrNotExist, and the Config has the defaults.
func LoadConfig(path string) (Config, error) {
	c := Config{Database: DefaultDatabase}
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		value = strings.TrimSpace(value)
		if !ok || strings.HasPrefix(key, "#") {
			continue
		}
		switch key {
		case "mech_list":
			c.Mechanisms = append([]string{}, strings.Fields(value)...)
		case "sasldb_path":
			c.Database = cmp.Or(value, DefaultDatabase)
		case "pwcheck_method":
			c.Check = value
		}
	}
	return c, lines.Err()
}

// Users are those of the database. If passwords are not to be checked there, nobody can log in:
// Check may be empty, or have the word auxprop.
func (c Config) Users() Users {
	if c.Check != "" && !slices.Contains(strings.Fields(c.Check), "auxprop") {
		return unchecked(c.Check)
	}
	return File{Path: c.Database}
}

// unchecked are users whose passwords somebody else would have to check.
type unchecked string

func (u unchecked) Verifier(string) (Verifier, error) {
	return Verifier{}, fail(ErrFail, "pwcheck_method "+string(u)+" is not supported, only auxprop")
}
