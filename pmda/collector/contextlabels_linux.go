package collector

import "golang.org/x/sys/unix"

// domainName returns the host's NIS domain, as getdomainname(2) does.
func domainName() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Domainname[:])
}
