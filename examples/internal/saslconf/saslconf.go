// Package saslconf reads the logins of pmcd from the configuration of the Cyrus library.
package saslconf

import (
	"bufio"
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
)

// A config is what a configuration file, such as /etc/sasl2/pmcd.conf, says of how users may log
// in.
type config struct {
	mechanisms []string // mech_list; nil without one
	database   string   // sasldb_path, the path of a sasl.File; empty means /etc/sasldb2
	check      string   // pwcheck_method; empty without one
}

// defaultDatabase is where the Cyrus library keeps users unless its configuration says otherwise.
const defaultDatabase = "/etc/sasldb2"

// load reads a configuration file, which has lines of the form "key: value". Empty lines,
// lines that begin with "#" and keys that config does not have are ignored. If there is no file
// the error wraps fs.ErrNotExist, and the config has the defaults.
func load(path string) (config, error) {
	c := config{database: defaultDatabase}
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
			c.mechanisms = append([]string{}, strings.Fields(value)...)
		case "sasldb_path":
			c.database = cmp.Or(value, defaultDatabase)
		case "pwcheck_method":
			c.check = value
		}
	}
	return c, lines.Err()
}

// users returns the users of the database. No user can log in unless check is empty or has the word
// auxprop, because only the database is supported.
func (c config) users() sasl.Users {
	if c.check != "" && !slices.Contains(strings.Fields(c.check), "auxprop") {
		return unchecked(c.check)
	}
	return sasl.File{Path: cmp.Or(c.database, defaultDatabase)}
}

// unchecked refuses all users. It is the name of a way to check passwords that is not supported.
type unchecked string

func (u unchecked) Verifier(string) (sasl.Verifier, error) {
	return sasl.Verifier{}, &sasl.Error{Code: saslFail, Reason: "pwcheck_method " + string(u) + " is not supported, only auxprop"}
}

// saslFail is SASL_FAIL, the generic failure of the Cyrus library.
const saslFail = pdu.ErrNYI - 1
