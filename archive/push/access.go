package push

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
)

// access holds the clients that may push; see ReceiverOptions.
type access struct {
	networks []netip.Prefix
	users    []User
}

// A User is a login with a password or a token.
type User struct {
	// Name and Password are those of HTTP basic authentication. Without a Name, Password is the
	// token of "Authorization: Bearer".
	Name, Password string
	// Hosts are lower-case patterns of path.Match for the host names in archive labels. The user
	// may push archives of matching hosts. An empty list matches all hosts.
	Hosts []string
}

// ParseUsers reads users, one per line: a name, a password, and optional patterns of hosts. The
// name "-" stands for an empty Name. Empty lines and lines that begin with # are ignored.
func ParseUsers(r io.Reader) ([]User, error) {
	var users []User
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		f := strings.Fields(s.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 2 {
			return nil, fmt.Errorf("line %d: a user without a password", line)
		}
		u := User{f[0], f[1], f[2:]}
		if u.Name == "-" {
			u.Name = ""
		}
		for _, pattern := range u.Hosts {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("line %d: host %q: %w", line, pattern, err)
			}
		}
		users = append(users, u)
	}
	return users, s.Err()
}

// A client is the sender of a request.
type client struct {
	id    string // a user, an address, or unix
	hosts []string
}

// Errors of clients that may not push. The sender and the log receive the reason.
var (
	errOrigin     = denied("web pages may not push")
	errLogin      = denied("the Authorization header has neither a name with a password nor a token")
	errWrongLogin = denied("unknown user, or wrong password or token")
	errAddress    = denied("the client's address may not push without a login, as with pmlogger --login=FILE")
)

// denied returns the error of a client that may not push.
func denied(format string, args ...any) error {
	return &failure{http.StatusForbidden, "no permission: " + fmt.Sprintf(format, args...)}
}

// errFailedLogins is the error of a client with too many failed logins.
var errFailedLogins = &failure{http.StatusTooManyRequests, "too many failed logins of this user: wait a minute"}

// client identifies the client of a request. All requests for an archive must have the same client.
func (r *Receiver) client(hr *http.Request) (client, error) {
	if hr.Header.Get("Authorization") == "" {
		return r.access.Load().client(hr)
	}
	name, _, _ := hr.BasicAuth()
	peer, _ := netip.ParseAddrPort(hr.RemoteAddr)
	key := loginlimit.KeyOf(loginlimit.Address(peer.Addr()), name)
	if !r.failures.Allowed(key, loginlimit.GatewayPerMinute, time.Now()) {
		return client{}, errFailedLogins
	}
	c, err := r.access.Load().client(hr)
	if err != nil {
		r.failures.Add(key, loginlimit.GatewayPerMinute, time.Now())
	}
	return c, err
}

// client is like Receiver.client, but does not limit failed logins.
func (a *access) client(r *http.Request) (client, error) {
	if r.Header.Get("Origin") != "" { // a web page, in the browser of a permitted client
		return client{}, errOrigin
	}
	if header := r.Header.Get("Authorization"); header != "" {
		name, secret, basic := r.BasicAuth()
		if token, ok := cutBearer(header); ok {
			secret = token
		} else if !basic || name == "" {
			return client{}, errLogin
		}
		if u := a.user(name, secret); u != nil {
			return client{"user " + u.id(), u.Hosts}, nil
		}
		return client{}, errWrongLogin
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return client{id: "unix"}, nil
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return client{}, errAddress
	}
	addr := ap.Addr().Unmap().WithZone("")
	allowed := addr.IsLoopback()
	if a.networks != nil {
		allowed = slices.ContainsFunc(a.networks, func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	if !allowed {
		return client{}, errAddress
	}
	return client{id: addr.String()}, nil
}

// loggedUser is the user of a request as the log has it. Package loglimit counts the lines about
// each known user separately, and those about all unknown names together. So guesses at many names
// cannot crowd out the lines about a known user.
func (a *access) loggedUser(r *http.Request) any {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "no user"
	}
	if token, ok := cutBearer(header); ok {
		if u := a.user("", token); u != nil {
			return u.id()
		}
		return "unknown token"
	}
	name, _, _ := r.BasicAuth()
	if slices.ContainsFunc(a.users, func(u User) bool { return u.Name == name }) {
		return name
	}
	return loglimit.Text(name[:min(len(name), maxLogged)])
}

func cutBearer(header string) (token string, ok bool) {
	const scheme = "bearer "
	if len(header) < len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	return header[len(scheme):], true
}

// user returns the user with a name and a password, or nil. It takes the same time for any name and
// password.
func (a *access) user(name, password string) (found *User) {
	n, p := sha256.Sum256([]byte(name)), sha256.Sum256([]byte(password))
	for i := range a.users {
		u := &a.users[i]
		un, up := sha256.Sum256([]byte(u.Name)), sha256.Sum256([]byte(u.Password))
		if subtle.ConstantTimeCompare(n[:], un[:])&subtle.ConstantTimeCompare(p[:], up[:]) == 1 && u.Password != "" {
			found = u
		}
	}
	return found
}

// id returns the user's name, or a text that identifies the token.
func (u *User) id() string {
	if u.Name != "" {
		return u.Name
	}
	return fmt.Sprintf("with token %.16x", sha256.Sum256([]byte(u.Password)))
}

// mayPush reports whether a client may push archives of a host.
func (c *client) mayPush(host string) bool {
	return len(c.hosts) == 0 || slices.ContainsFunc(c.hosts, func(pattern string) bool {
		ok, _ := path.Match(pattern, host)
		return ok
	})
}
