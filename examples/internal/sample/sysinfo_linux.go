package sample

import (
	"encoding/binary"
	"syscall"
)

// sysinfo returns the structure that sysinfo(2) fills, in the byte order of the machine.
func sysinfo() ([]byte, error) {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return nil, err
	}
	return binary.Append(nil, binary.NativeEndian, &info)
}
