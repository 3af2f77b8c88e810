package mmv

import "os"

// hostPIDs reports whether process ids are those of the host. The kernel gives its first PID name
// space a number that no other has (PROC_PID_INIT_INO).
func hostPIDs() bool {
	name, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && name == "pid:[4026531836]"
}
