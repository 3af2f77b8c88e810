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
	Database   string   // sasldb_path, the path of a File; empty means /etc/sasldb2
	Check      string   // pwcheck_method; empty without one
}

// defaultDatabase is where the Cyrus library keeps users unless its configuration says otherwise.
const defaultDatabase = "/etc/sasldb2"

// LoadConfig reads a configuration file, which has lines of the form "key: value". Empty lines,
// lines that begin with "#" and keys that Config does not have are ignored. If there is no file the
// error wraps fs.ErrNotExist, and the Config has the defaults.
func LoadConfig(path string) (Config, error) {
	c := Config{Database: defaultDatabase}
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
			c.Database = cmp.Or(value, defaultDatabase)
		case "pwcheck_method":
			c.Check = value
		}
	}
	return c, lines.Err()
}

// Users returns the users of the database. No user can log in unless Check is empty or has the word
// auxprop, because only the database is supported.
func (c Config) Users() Users {
	if c.Check != "" && !slices.Contains(strings.Fields(c.Check), "auxprop") {
		return unchecked(c.Check)
	}
	return File{Path: cmp.Or(c.Database, defaultDatabase)}
}

// unchecked refuses all users. It is the name of a way to check passwords that is not supported.
type unchecked string

func (u unchecked) Verifier(string) (Verifier, error) {
	return Verifier{}, fail(errFail, "pwcheck_method "+string(u)+" is not supported, only auxprop")
}
