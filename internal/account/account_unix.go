//go:build unix

// Package account finds users of the system and switches the process to one of
// them, as daemons do that root starts.
package account

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Exists reports whether there is a user of this name.
func Exists(name string) bool {
	_, err := user.Lookup(name)
	return err == nil
}

// IDs returns the number of a user and of its main group.
func IDs(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	return ids(u)
}

// ids is IDs of a user that has been looked up.
func ids(u *user.User) (uid, gid int, err error) {
	uid, err = strconv.Atoi(u.Uid)
	gid, gerr := strconv.Atoi(u.Gid)
	return uid, gid, errors.Join(err, gerr)
}

// Become switches the process permanently to another user and its groups.
func Become(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("cannot find the %s user to switch to", name)
	}
	uid, gid, err := ids(u)
	if err != nil {
		return fmt.Errorf("switch to user %s: %w", name, err)
	}
	if uid == os.Getuid() && uid == os.Geteuid() {
		return nil
	}
	var groups []int
	if have, err := os.Getgroups(); err == nil && len(have) > 0 {
		names, err := u.GroupIds()
		if err != nil {
			return fmt.Errorf("groups of user %s: %w", name, err)
		}
		for _, s := range names {
			if g, err := strconv.Atoi(s); err == nil {
				groups = append(groups, g)
			}
		}
	}
	if err := syscall.Setgid(gid); err != nil {
		return fmt.Errorf("switch to the group of user %s: %w", name, err)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("switch to the groups of user %s: %w", name, err)
	}
	if err := syscall.Setuid(uid); err != nil {
		return fmt.Errorf("switch to user %s: %w", name, err)
	}
	return nil
}
