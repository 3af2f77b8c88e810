package collector

import "golang.org/x/sys/unix"

// domainName is getdomainname.
func domainName() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Domainname[:])
}
