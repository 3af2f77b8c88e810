package pmcdconf

import (
	"bufio"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pmda/internal/access"
)

// addAccount adds a rule for a user or group, or merges it with an earlier one.
func (n *ruleNames) addAccount(l *access.AccountRules, kind, name string, r access.Rule) error {
	rule := &access.AccountRule{Rule: r, Account: access.Account{Name: name}}
	if name != "*" {
		if err := n.findAccount(kind, rule); err != nil {
			return err
		}
	}
	if l.Others == nil {
		l.Others = &access.AccountRule{Account: access.Account{Name: "*"}, Rule: access.Rule{Ops: access.OpAll, Denied: access.OpAll}}
	}
	old := l.Others
	if name != "*" {
		key := accountKey{kind, rule.ID}
		if old = n.accountRules[key]; old == nil {
			if n.accountRules == nil {
				n.accountRules = map[accountKey]*access.AccountRule{}
			}
			n.accountRules[key] = rule
			l.List = append(l.List, rule)
			return nil
		}
	} else if !n.others[kind] {
		if n.others == nil {
			n.others = map[string]bool{}
		}
		n.others[kind], l.Others = true, rule
		return nil
	}
	if old.Conflicts(r) {
		return ruleErrorf("Permission clash for %s %s with earlier statement", kind, name)
	}
	old.Merge(r)
	return nil
}

// An accountEntry is a line of the passwd or of the group file.
type accountEntry struct {
	access.Account
	group   int      // of a user
	members []string // of a group
}

// findAccount completes the rule for a user with its number and groups, or the rule
// for a group with its number and users.
func (n *ruleNames) findAccount(kind string, rule *access.AccountRule) error {
	if n.users == nil {
		if err := n.readAccounts(); err != nil {
			return err
		}
	}
	list, others := n.users, n.groups
	if kind == "group" {
		list, others = n.groups, n.users
	}
	i := slices.IndexFunc(list, func(e accountEntry) bool { return e.Name == rule.Name })
	if i < 0 {
		return ruleErrorf("Failed to lookup %s \"%s\": No such file or directory", kind, rule.Name)
	}
	e := list[i]
	rule.ID = e.ID
	for _, o := range others {
		user, group := e, o
		if kind == "group" {
			user, group = o, e
		}
		switch {
		case user.group == group.ID:
			rule.Members = slices.Insert(rule.Members, 0, o.Account) // the main group comes first
		case slices.Contains(group.members, user.Name):
			rule.Members = append(rule.Members, o.Account)
		}
	}
	return nil
}

// readAccounts reads the passwd and the group file.
func (n *ruleNames) readAccounts() error {
	users, err := readAccountFile(n.loader.accounts, "passwd")
	if err != nil {
		return err
	}
	groups, err := readAccountFile(n.loader.accounts, "group")
	if err != nil {
		return err
	}
	n.users, n.groups = users, groups
	return nil
}

// readAccountFile reads lines of the form name:password:id:x, where x is a user's group, or the
// names of a group's members.
func readAccountFile(dir fs.FS, name string) ([]accountEntry, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries := []accountEntry{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // a group may have many members
	for lines.Scan() {
		field := strings.Split(lines.Text(), ":")
		if len(field) < 4 {
			continue
		}
		id, err := strconv.ParseUint(field[2], 10, 32)
		if err != nil {
			continue
		}
		e := accountEntry{Account: access.Account{Name: field[0], ID: int(id)}, group: -1}
		if name == "passwd" {
			if e.group, err = strconv.Atoi(field[3]); err != nil {
				continue
			}
		} else {
			e.members = strings.Split(field[3], ",")
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}
