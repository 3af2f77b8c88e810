package pmdalinux

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// newMachine makes a function that gives the architecture that uname(2) tells,
// valid until the next call.
func newMachine() func() ([]byte, error) {
	var u unix.Utsname
	return func() ([]byte, error) {
		if err := unix.Uname(&u); err != nil {
			return nil, err
		}
		name, _, _ := bytes.Cut(u.Machine[:], []byte{0})
		return name, nil
	}
}
