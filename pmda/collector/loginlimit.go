package collector

import (
	"cmp"
	"fmt"
	"net"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/pdu/sasl"
)

// loginAddress returns the origin of a connection for loginlimit.KeyOf: an address, or the user
// of a unix socket. It is empty for this process.
func loginAddress(conn net.Conn) string {
	if _, local := conn.(inProcess); local {
		return ""
	}
	switch a := conn.RemoteAddr().(type) {
	case *net.TCPAddr:
		return loginlimit.Address(a.AddrPort().Addr())
	case *net.UnixAddr:
		_, uid, _ := peer(conn)
		return fmt.Sprint("user ", uid)
	}
	return ""
}

// limitedUsers holds the users of a Server for one login. If logins of the user from the client's
// address have failed too often, the login is refused before the password is compared.
type limitedUsers struct {
	sasl.Users
	client  *client
	limit   int
	tried   bool
	refused bool
	key     loginlimit.Key
}

// newLimitedUsers returns the users for a login of a client.
func newLimitedUsers(c *client) *limitedUsers {
	limit := cmp.Or(c.s.clientLimits.Load().Logins, loginlimit.PerMinute)
	return &limitedUsers{Users: c.s.Users, client: c, limit: limit}
}

// Verifier implements [sasl.Users].
func (u *limitedUsers) Verifier(user string) (sasl.Verifier, error) {
	u.key = loginlimit.KeyOf(loginAddress(u.client.conn), user)
	if !u.client.s.logins.Allowed(u.key, u.limit, time.Now()) {
		u.refused = true
		return sasl.Verifier{}, &limitError{"failed logins"}
	}
	u.tried = true
	return u.Users.Verifier(user)
}

// result counts a failure of the login, and returns its error.
func (u *limitedUsers) result(err error) error {
	switch {
	case u.refused:
		return &limitError{"failed logins"}
	case err != nil && u.tried:
		u.client.s.logins.Add(u.key, u.limit, time.Now())
	}
	return err
}
