package pmdalinux

import (
	"bytes"
	"encoding/binary"
	"runtime"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// The layout of /var/run/utmp, of utmp(5).
const (
	utmpUser    = 44 // offset of the name, followed by its maximum length
	utmpUserLen = 32
	userProcess = 7 // type of the record of a login
)

// utmpSize is the size of a record in bytes. The times have 64 bits on architectures without the
// older 32-bit layout, otherwise 32.
var utmpSize = func() int {
	switch runtime.GOARCH {
	case "arm64", "riscv64", "loong64":
		return 400
	}
	return 384
}()

// users are the numbers of logins in /var/run/utmp.
type users struct{ logins, roots, records uint32 }

// addUsers adds the metrics of users.
func (l *linux) addUsers() {
	now := new(users)
	g := l.optionalFileGroup("var/run/utmp", now.parse)
	const help = "It is in /var/run/utmp, which some systems do not write any more: then there is nobody."
	for item, m := range []struct {
		name, text string
		of         *uint32
	}{
		{"kernel.all.nusers", "Logins that last, each of a user who has several", &now.logins},
		{"kernel.all.nroots", "Logins that last as root", &now.roots},
		{"kernel.all.nsessions", "Records of logins and of the system, such as its start", &now.records},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(25, item), Group: g, Units: pdu.NoUnits,
			Text: m.text, Help: help, Value: valueOf(m.of),
		})
	}
}

// parse counts the records that have a name.
func (u *users) parse(records []byte) error {
	*u = users{}
	for ; len(records) >= utmpSize; records = records[utmpSize:] {
		name, _, _ := bytes.Cut(records[utmpUser:utmpUser+utmpUserLen], []byte{0})
		if len(name) == 0 {
			continue
		}
		u.records++
		if binary.NativeEndian.Uint16(records) == userProcess {
			u.logins++
			if string(name) == "root" {
				u.roots++
			}
		}
	}
	return nil
}
