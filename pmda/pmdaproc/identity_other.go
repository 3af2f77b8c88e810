//go:build !linux

package pmdaproc

import "os"

// An identity cannot switch to the rights of other users because the files are those of another
// machine.
type identity struct{}

func (identity) allows(uid, gid int) (allowed, switches bool) {
	return uid == os.Geteuid() && gid == os.Getegid(), false
}

func (identity) runAs(int, int, func()) bool { return false }

// isOwn reports whether a user is the agent's.
func (identity) isOwn(uid int) bool { return uid == os.Geteuid() }
