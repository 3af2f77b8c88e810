package access

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteTables writes the rules in the layout of pmcd's log, between empty lines. Conns returns the
// number of connections that count against a rule; nil means none.
func (a *Rules) WriteTables(w io.Writer, conns func(*Rule) int) error {
	if a == nil {
		a = new(Rules)
	}
	if conns == nil {
		conns = func(*Rule) int { return 0 }
	}
	t := tableWriter{conns: conns}
	t.b.WriteByte('\n')
	t.writeHosts(a.Hosts)
	t.writeAccounts(&a.Users, "User", "user", "uid", "group")
	t.writeAccounts(&a.Groups, "Group", "group", "gid", "user")
	t.b.WriteByte('\n')
	_, err := w.Write(t.b.Bytes())
	return err
}

// A tableWriter writes tables of rules.
type tableWriter struct {
	b     bytes.Buffer
	conns func(*Rule) int
}

func (t *tableWriter) writeHosts(rules []*HostRule) {
	if len(rules) == 0 {
		t.b.WriteString("Host access list empty: host-based access control turned off\n")
		return
	}
	t.b.WriteString("Host access list:\n")
	t.b.WriteString("00 01 Cur/MaxCons host-spec                               host-mask                               lvl host-name\n")
	t.b.WriteString("== == =========== ======================================= ======================================= === ==============\n")
	for _, r := range rules {
		addr, mask := "/", "/"
		if r.Addr.IsValid() {
			addr, mask = r.Addr.String(), r.Mask.String()
		}
		t.writeRule(&r.Rule)
		fmt.Fprintf(&t.b, "%-39s %-39s %3d %s\n", addr, mask, r.Level, r.Name)
	}
}

// writeRule writes the first three columns.
func (t *tableWriter) writeRule(r *Rule) {
	for op := OpFetch; op <= OpStore; op <<= 1 {
		switch {
		case r.Ops&op == 0:
			t.b.WriteString("   ")
		case r.Denied&op == 0:
			t.b.WriteString(" y ")
		default:
			t.b.WriteString(" n ")
		}
	}
	fmt.Fprintf(&t.b, "%5d %5d ", t.conns(r), r.MaxConns)
}

func (t *tableWriter) writeAccounts(l *AccountRules, title, kind, id, members string) {
	if l.Others == nil {
		fmt.Fprintf(&t.b, "%s access list empty: %s-based access control turned off\n", title, kind)
		return
	}
	fmt.Fprintf(&t.b, "%s access list:\n", title)
	fmt.Fprintf(&t.b, "00 01 Cur/MaxCons %7s %-31s %s-list\n", id, kind+"-name", members)
	fmt.Fprintf(&t.b, "== == =========== ======= =============================== %s\n", strings.Repeat("=", 58))
	for _, r := range slices.Backward(l.List) {
		var list []string
		for _, m := range r.Members {
			list = append(list, strconv.Itoa(m.ID)+"("+m.Name+")")
		}
		t.writeRule(&r.Rule)
		fmt.Fprintf(&t.b, "%7d %-31s %s\n", r.ID, r.Name, strings.Join(list, ","))
	}
	t.writeRule(&l.Others.Rule)
	fmt.Fprintf(&t.b, "%7s %-31s\n", "*", "*")
}
