package pmlogger

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// isURL reports whether the name of an archive is the URL of a receiver, as for pmlogger(1) of PCP
// 7.
func isURL(base string) bool {
	return strings.HasPrefix(base, "http://") || strings.HasPrefix(base, "https://") || strings.HasPrefix(base, "unix:")
}

// mistakenURL returns a warning if the name of an archive looks like a receiver without http://. It
// is the name of a file, as for pmlogger(1).
func mistakenURL(base string) string {
	host, port, err := net.SplitHostPort(base)
	if err != nil || host == "" || strings.Contains(base, "/") {
		return ""
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return ""
	}
	return fmt.Sprintf("%s is the name of an archive on this computer: write http://%s to send the archive to a receiver", base, base)
}

// login is the user who pushes. It comes from a file, so that other users do not see the password.
type login struct{ user push.User }

// options returns a long option that cannot be abbreviated. It is not in the usage message, which
// is that of C's program.
func (l *login) options() []tool.Option {
	return []tool.Option{{Long: "login", Arg: "FILE", Exact: true, Help: "name and password for an archive of a URL", Set: func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("illegal --login argument\n%w", err)
		}
		defer f.Close()
		users, err := push.ParseUsers(f)
		if err == nil && len(users) != 1 {
			err = errors.New("want one line, with a name, or - for a token, and a password")
		}
		if err != nil {
			return fmt.Errorf("illegal --login argument\n%s: %w", path, err)
		}
		l.user = users[0]
		return nil
	}}}
}

// pushOptions returns the receiver of the archive, nil for an archive in files.
func (o *options) pushOptions() *push.SenderOptions {
	if !isURL(o.base) {
		return nil
	}
	s := &push.SenderOptions{URL: o.base}
	if u := o.login.user; u.Name == "" {
		s.Token = u.Password
	} else {
		s.User, s.Password = u.Name, u.Password
	}
	return s
}
