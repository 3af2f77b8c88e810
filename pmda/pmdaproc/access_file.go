package pmdaproc

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// maxAccessFile is the maximum length of the file with the allowed users in bytes.
const maxAccessFile = 1 << 20

// allowedUsers are the users that may see single processes because of their names, as in PCP 7.
type allowedUsers struct {
	names  []string
	mapped bool // they see what the local users of these names see, not what the agent sees
}

// loadAllowed reads the allowed users from the configured file. If the file cannot be used, it logs
// why and allows no users.
func (p *proc) loadAllowed() allowedUsers {
	if p.AccessConfig == "" {
		return allowedUsers{}
	}
	u, err := readAllowed(p.AccessConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Log().Warn("no user is allowed by name", slog.Any("err", err))
	}
	return u
}

func readAllowed(path string) (allowedUsers, error) {
	at, err := os.Stat(path)
	if err != nil {
		return allowedUsers{}, err
	}
	if at.Mode()&0o002 != 0 {
		return allowedUsers{}, errors.New(path + ": all users may write to the file")
	}
	text, err := readLimited(path, maxAccessFile)
	if err != nil {
		return allowedUsers{}, err
	}
	u, err := parseAllowed(string(text))
	if err != nil {
		return allowedUsers{}, fmt.Errorf("%s:%w", path, err)
	}
	return u, nil
}

// parseAllowed parses lines such as "allowed: joe, sue" and "mapped: true". The error begins with
// the line number.
func parseAllowed(text string) (u allowedUsers, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		switch value := strings.TrimSpace(value); strings.TrimSpace(key) {
		case "allowed":
			u.names = append(u.names, strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", \t", r) })...)
		case "mapped":
			if u.mapped, err = strconv.ParseBool(value); err != nil {
				return allowedUsers{}, fmt.Errorf("%d: mapped is %q, expected true or false", n, value)
			}
		default:
			return allowedUsers{}, fmt.Errorf("%d: expected \"allowed: NAMES\" or \"mapped: true\", found %q", n, strings.TrimSpace(line))
		}
	}
	return u, nil
}

// allow adds the rights of the user's name to a view.
func (u allowedUsers) allow(v *view, name string, id identity) {
	if name == "" || !slices.Contains(u.names, name) {
		return
	}
	if !u.mapped {
		v.access, v.switches = true, false
		return
	}
	account, err := user.Lookup(name)
	if err != nil {
		return
	}
	uid, err := strconv.Atoi(account.Uid)
	gid, err2 := strconv.Atoi(account.Gid)
	if err != nil || err2 != nil {
		return
	}
	v.uid, v.gid = uid, gid
	v.access, v.switches = id.allows(uid, gid)
}
