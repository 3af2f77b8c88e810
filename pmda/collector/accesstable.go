package collector

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteTables writes the rules with the connections that count against them, as
// pmcd's log has them at the start and after a reload: with an empty line before
// and after.
func (a *Access) WriteTables(w io.Writer) error {
	if a == nil {
		a = new(Access)
	}
	a.mu.Lock()
	var b bytes.Buffer
	b.WriteByte('\n')
	a.writeHosts(&b)
	a.users.write(&b, "User", "user", "uid", "group")
	a.groups.write(&b, "Group", "group", "gid", "user")
	b.WriteByte('\n')
	a.mu.Unlock()
	_, err := w.Write(b.Bytes())
	return err
}

func (a *Access) writeHosts(b *bytes.Buffer) {
	if len(a.hosts) == 0 {
		b.WriteString("Host access list empty: host-based access control turned off\n")
		return
	}
	b.WriteString("Host access list:\n")
	b.WriteString("00 01 Cur/MaxCons host-spec                               host-mask                               lvl host-name\n")
	b.WriteString("== == =========== ======================================= ======================================= === ==============\n")
	for _, r := range a.hosts {
		addr, mask := "/", "/"
		if r.addr.IsValid() {
			addr, mask = r.addr.String(), r.mask.String()
		}
		r.write(b)
		fmt.Fprintf(b, "%-39s %-39s %3d %s\n", addr, mask, r.level, r.name)
	}
}

// write writes the first three columns.
func (r *accessRule) write(b *bytes.Buffer) {
	for op := OpFetch; op <= OpStore; op <<= 1 {
		switch {
		case r.spec&op == 0:
			b.WriteString("   ")
		case r.deny&op == 0:
			b.WriteString(" y ")
		default:
			b.WriteString(" n ")
		}
	}
	fmt.Fprintf(b, "%5d %5d ", r.cur, r.limit)
}

func (l *accountRules) write(b *bytes.Buffer, title, kind, id, members string) {
	if !l.any {
		fmt.Fprintf(b, "%s access list empty: %s-based access control turned off\n", title, kind)
		return
	}
	fmt.Fprintf(b, "%s access list:\n", title)
	fmt.Fprintf(b, "00 01 Cur/MaxCons %7s %-31s %s-list\n", id, kind+"-name", members)
	fmt.Fprintf(b, "== == =========== ======= =============================== %s\n", strings.Repeat("=", 58))
	for _, r := range slices.Backward(l.list) {
		var list []string
		for _, m := range r.members {
			list = append(list, strconv.Itoa(m.id)+"("+m.name+")")
		}
		r.write(b)
		fmt.Fprintf(b, "%7d %-31s %s\n", r.id, r.name, strings.Join(list, ","))
	}
	l.other.write(b)
	fmt.Fprintf(b, "%7s %-31s\n", "*", "*")
}
