package pmdatrace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// ParseAccess returns access rules from arguments of the option -A of pmdatrace(1):
//
//	allow:HOST:MAX      HOST may have MAX connections at a time, 0 for any number
//	disallow:HOST       HOST may have no connection
//
// HOST is a name, an IPv4 address, the beginning of one such as 10.1.*, or * for all. The most
// specific rule that matches a client applies. A client that matches no rule may send. Clients on
// the loopback interface are checked as if they came from the addresses of this host's name. Each
// connection counts once; the C agent counts a connection of this host up to three times for each
// of its addresses.
//
// Names are resolved during the call. Without rules the result is nil, which lets every host send.
func ParseAccess(rules ...string) (*pmcdconf.Access, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	var statements strings.Builder
	for _, r := range rules {
		s, err := statement(r)
		if err != nil {
			return nil, fmt.Errorf("access rule %q: %w", r, err)
		}
		statements.WriteString(s)
	}
	conf, err := pmcdconf.Parse("access rules", strings.NewReader("[access]\n"+statements.String()))
	if err != nil {
		return nil, err
	}
	if len(conf.Warnings) > 0 {
		return nil, conf.Warnings[0] // the rule would have no effect
	}
	return conf.Access, nil
}

// statement returns a rule in the syntax of pmcd.conf.
func statement(rule string) (string, error) {
	const usage = "want allow:HOST:MAX or disallow:HOST"
	keyword, rest, ok := strings.Cut(rule, ":")
	host, limit, limited := strings.Cut(rest, ":")
	switch {
	case !ok || host == "":
		return "", errors.New(usage)
	case strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }):
		return "", errors.New("the host has a blank, a quote or a control character")
	case strings.EqualFold(keyword, "disallow") && !limited:
		return fmt.Sprintf("disallow %q : all;\n", host), nil
	case !strings.EqualFold(keyword, "allow") || !limited:
		return "", errors.New(usage)
	}
	n, err := strconv.ParseUint(limit, 10, 31)
	switch {
	case err != nil:
		return "", errors.New("MAX is a number of connections, 0 for any number")
	case n == 0:
		return fmt.Sprintf("allow %q : all;\n", host), nil
	}
	return fmt.Sprintf("allow %q : all, maximum %d connections;\n", host, n), nil
}
